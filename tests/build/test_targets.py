"""Tests for the choice of build targets: all targets, the given targets, or the targets of a scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.build import needs, one_language, system, targets
from hopmeter.build.one_language import one_language_each
from hopmeter.errors import UsageError
from hopmeter.manifest import Readiness
from hopmeter.manifest.discovery import load
from hopmeter.plan.language_choice import preferred_language
from hopmeter.scenario import Scenario, asks
from hopmeter.system import paths
from tests.coded import refuses

MANIFEST = """
name = "{name}"
title = "T"
summary = "S."
placements = ["process"]
patterns = ["pubsub"]
send = "nonblocking"
max_payload_bytes = 100
{top}
"""
LANGUAGE = """
[languages."{language}"]
waits = ["block"]
library = "L"
{extra}
"""


def write(folder: Path, name: str, top: str = "", **languages: str) -> None:
    words = {"cpp": "c++"}
    text = MANIFEST.format(name=name, top=top)
    for language, extra in languages.items():
        text += LANGUAGE.format(language=words.get(language, language), extra=extra)
    (folder / name).mkdir(parents=True)
    (folder / name / "transport.toml").write_text(text)


@pytest.fixture(autouse=True)
def transports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "transports"
    write(folder, "memory", rust="", cpp="")
    write(folder, "shm", rust="", cpp="", python="")
    write(folder, "heavy", rust="build_cost = { seconds = 121 }", python="")
    write(folder, "minute", rust="build_cost = { seconds = 67 }", python="")
    write(folder, "compiled", rust="build_cost = { seconds = 65 }", cpp="build_cost = { seconds = 35 }", python="")
    write(folder, "packaged", cpp='apt = ["libp-dev"]', python='pip = ["p"]')
    write(folder, "synthetic", top="ranked = false", rust="")
    monkeypatch.setattr(paths, "transport_folders", lambda: [folder])
    monkeypatch.setattr(paths, "scenario_folder", lambda: tmp_path)
    monkeypatch.setattr(system, "rights", list)
    monkeypatch.setattr(system, "missing", list)
    return folder


def titles(found: list[targets.Target]) -> set[str]:
    return {target.title for target in found}


def scenario(tmp_path: Path, text: str) -> list[targets.Target]:
    (tmp_path / "asked.toml").write_text(f'title = "T"\nquestion = "Q?"\n{text}')
    return needs.needed_for("asked")


def test_everything_is_built_unless_something_is_asked_for() -> None:
    assert len(targets.select_targets()) == 15
    assert titles(targets.select_targets(["shm"])) == {"shm (rust)", "shm (c++)", "shm (python)"}
    assert titles(targets.select_targets(["shm", "packaged"], ["c++"])) == {"shm (c++)", "packaged (c++)"}


INSTALLATIONS = """
[languages.python.installations.old]
where = { edition = ["old", "older"] }
pip = ["p==1"]
[languages.python.installations.new]
where = { edition = ["new"] }
pip = ["p==2"]
[settings.edition]
default = "plain"
choices = ["plain", "old", "older", "new"]
help = "H."
[settings.depth]
default = 1
help = "H."
"""


def test_settings_choose_the_installations_that_are_built(transports: Path, tmp_path: Path) -> None:
    write(transports, "bus", cpp="", python='pip = ["p"]' + INSTALLATIONS)
    assert titles(targets.select_targets(["bus"])) == {"bus (c++)", "bus (python)"}
    chosen = targets.select_targets(["bus"], [], ["edition=old,new"])
    assert titles(chosen) == {"bus (python, edition=old)", "bus (python, edition=new)"}
    assert [(each.offer.pip, each.offer.environment_name, each.file_name) for each in chosen] == [
        (["p==1"], "bus-old", "bus-old-python"),
        (["p==2"], "bus-new", "bus-new-python"),
    ]
    needed = scenario(tmp_path, 'transport = "bus"\nlanguage = "each"\n[settings.bus]\nedition = ["plain", "new"]\n')
    assert titles(needed) >= {"bus (c++)", "bus (python)", "bus (python, edition=new)"}
    only = scenario(tmp_path, 'transport = "bus"\nlanguage = "each"\n[settings.bus]\nedition = ["new"]\n')
    assert {title for title in titles(only) if title.startswith("bus")} == {"bus (c++)", "bus (python, edition=new)"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["edition=odd"], "E-SETTING-VALUE odd old"),
        (["editon=old"], "E-UNKNOWN-SETTING editon edition"),
        (["edition"], "E-OPTION-VALUE edition NAME=VALUE"),
        (["depth=2"], "E-OPTION-VALUE depth=2 installation"),
    ],
)
def test_settings_that_choose_nothing_are_refused(transports: Path, settings: list[str], said: str) -> None:
    write(transports, "bus", cpp="", python='pip = ["p"]' + INSTALLATIONS)
    with refuses(UsageError, said):
        targets.select_targets(["bus"], ["c++"] if "depth=2" in settings else [], settings)


@pytest.mark.parametrize(
    ("names", "languages", "said"), [(["shn"], [], "E-UNKNOWN-TRANSPORT shm"), ([], ["cpp"], "E-UNKNOWN-LANGUAGE c++")]
)
def test_a_mistyped_word_is_answered_with_what_there_is(names: list[str], languages: list[str], said: str) -> None:
    with refuses(UsageError, said):
        targets.select_targets(names, languages)


def test_one_language_is_the_one_that_is_got_soonest_and_synthetic_is_not_ranked(tmp_path: Path) -> None:
    found = titles(scenario(tmp_path, 'transport = "all"\nlanguage = "one"\n'))
    chosen = {"heavy (python)", "minute (rust)", "compiled (c++)", "packaged (c++)"}
    assert found == {"memory (rust)", "shm (rust)"} | chosen


def test_an_adapter_that_takes_long_to_build_is_chosen_if_it_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_ready(monkeypatch, "rust")
    monkeypatch.setattr(system, "rights", lambda: None)
    found = titles(scenario(tmp_path, 'transport = ["heavy", "compiled", "packaged"]\n'))
    assert {"heavy (rust)", "compiled (rust)", "packaged (python)"} <= found
    made_ready(monkeypatch, "c++")
    assert "packaged (c++)" in titles(scenario(tmp_path, 'transport = "packaged"\n'))


@pytest.mark.parametrize(("payload", "language"), [("bytes:10", "rust"), ("bytes:11", "c++")])
def test_the_language_that_is_built_supports_the_cells(
    transports: Path, tmp_path: Path, payload: str, language: str
) -> None:
    write(transports, "small", rust="max_payload_bytes = 10", cpp="")
    found = titles(scenario(tmp_path, f'transport = "small"\npayload = "{payload}"\n'))
    assert found == {"memory (rust)", "shm (rust)", f"small ({language})"}


@pytest.mark.parametrize("languages", [(), ("rust",), ("rust", "c++"), ("rust", "c++", "python")])
def test_a_plan_measures_what_the_build_chose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, languages: tuple[str, ...]
) -> None:
    made_ready(monkeypatch, *languages)
    axes = asks(Scenario(title="t", question="q?"))[0].axes
    for one in targets.every().values():
        (built,) = one_language_each(targets.select_targets([one.name]), axes)
        ready = {(one.name, word): Readiness(one.name, word, ready=True) for word in {*languages, built.language}}
        assert preferred_language([one], {name: values[0] for name, values in axes.items()}, ready) == built.language


def test_of_languages_that_suit_a_cell_the_usual_one_is_measured(tmp_path: Path) -> None:
    axes = {name: values[0] for name, values in asks(Scenario(title="t", question="q?"))[0].axes.items()}
    for usual, expected in (("", "rust"), ("c++", "c++"), ("python", "rust")):
        folder = tmp_path / f"usual-{usual}"
        write(folder, "bus", f'usual_language = "{usual}"' if usual else "", rust="", cpp="", python="")
        known = load(folder / "bus/transport.toml")
        ready = {("bus", word): Readiness("bus", word, ready=True) for word in known.offers}
        assert preferred_language([known], axes, ready) == expected
        alone = {("bus", "rust"): Readiness("bus", "rust", ready=True)}
        assert preferred_language([known], axes, alone) == "rust"


def test_a_library_that_only_the_user_can_install_is_chosen_only_if_it_is_installed(
    transports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = 'user = { variable = "OWNED_ROOT", remedy = "install it" }'
    write(transports, "owned", rust="build_cost = { seconds = 67, megabytes = 1 }", cpp=user)
    monkeypatch.delenv("OWNED_ROOT", raising=False)
    assert "owned (rust)" in titles(scenario(tmp_path, 'transport = "owned"\n'))
    monkeypatch.setenv("OWNED_ROOT", str(tmp_path))
    assert "owned (c++)" in titles(scenario(tmp_path, 'transport = "owned"\n'))


def test_python_does_not_replace_a_library_that_only_the_user_can_install(
    transports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = 'user = { variable = "OWNED_ROOT", remedy = "install it" }'
    write(transports, "owned", cpp=user, python="build_cost = { seconds = 60, megabytes = 75 }")
    monkeypatch.delenv("OWNED_ROOT", raising=False)
    assert "owned (c++)" in titles(scenario(tmp_path, 'transport = "owned"\n'))


def test_a_transport_without_the_pattern_of_a_scenario_is_not_built(transports: Path, tmp_path: Path) -> None:
    write(transports, "caller", rust='patterns = ["rpc"]')
    found = titles(scenario(tmp_path, 'transport = ["caller", "memory"]\n'))
    assert "memory (rust)" in found and "caller (rust)" not in found
    assert "caller (rust)" in titles(scenario(tmp_path, 'transport = "caller"\npattern = "rpc"\n'))


def made_ready(monkeypatch: pytest.MonkeyPatch, *languages: str) -> None:
    monkeypatch.setattr(one_language, "readiness", lambda one, word: Readiness(one.name, word, word in languages))


def test_without_the_right_to_install_a_language_without_packages_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "rights", lambda: None)
    assert "packaged (python)" in titles(scenario(tmp_path, ""))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('transport = ["heavy", "synthetic"]\nlanguage = "rust"', {"heavy (rust)", "synthetic (rust)"}),
        ('transport = "heavy"\nlanguage = "python>rust"', {"heavy (rust)", "heavy (python)"}),
        ('transport = "shm"\nlanguage = "pairs"', {"shm (c++)", "shm (python)"}),
        ('[[case]]\ntransport = "packaged"\nlanguage = "each"', {"packaged (c++)", "packaged (python)"}),
    ],
)
def test_what_a_scenario_names_is_built_along_with_the_floors(tmp_path: Path, text: str, wanted: set[str]) -> None:
    assert titles(scenario(tmp_path, text)) == {"memory (rust)", "shm (rust)"} | wanted


WORKLOAD = """
transport = ["heavy", "packaged"]
language = "one"
[participant]
camera = {}
gateway = {}
motor = { language = "rust" }
[flow]
frames = { from = "camera", to = "gateway", rate = 1, transport = "shm" }
orders = { from = "gateway", to = "motor", after = "frames" }
"""


def test_a_workload_needs_the_transports_of_its_flows_in_a_language_of_each_participant(tmp_path: Path) -> None:
    found = titles(scenario(tmp_path, WORKLOAD))
    gateway = {"shm (python)", "heavy (python)", "shm (c++)", "packaged (c++)"}
    assert found == {"memory (rust)", "shm (rust)", "heavy (rust)"} | gateway


def test_a_workload_of_own_transports_needs_no_others(tmp_path: Path) -> None:
    own = WORKLOAD.replace('transport = ["heavy", "packaged"]\n', "").replace(
        '"frames" }', '"frames", transport = "heavy" }'
    )
    found = titles(scenario(tmp_path, own))
    assert found == {"memory (rust)", "shm (rust)", "heavy (rust)", "shm (python)", "heavy (python)"}
