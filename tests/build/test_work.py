"""Tests that build with the real tools: a failure is reported, and the other builds continue."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hopmeter.build import system, work
from hopmeter.build.command import BuildError, run_logged
from hopmeter.build.targets import Target
from hopmeter.cli.parts.adapter_builds import is_failure
from hopmeter.manifest import Readiness
from hopmeter.messages import tag
from hopmeter.system import subprocesses
from tests.coded import lacking
from tests.plan.capabilities import transport


def target(
    folder: Path,
    language: str = "c++",
    apt: tuple[str, ...] = (),
    seconds: float | None = None,
    after: str | None = None,
) -> Target:
    part: dict[str, Any] = {"waits": ["block"], "library": "L", "apt": list(apt), "after": after}
    part |= {"build_cost": {"seconds": seconds}} if seconds else {}
    manifest = transport("thing", languages={language: part})
    manifest._folder = folder
    return Target(manifest, manifest.offers[language])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "workshop", lambda: tmp_path)
    monkeypatch.setattr(system, "missing", lambda packages: sorted(set(packages)))


def use(
    monkeypatch: pytest.MonkeyPatch, *, fails: bool, ready: bool = True, code: str = "E-COMMAND-FAILED", why: str = ""
) -> None:
    said = why or "the compiler's own words"

    def build(asked: Target, log: Path) -> None:
        log.write_text(said)
        if fails:
            raise BuildError(code, "it failed", "mend it", said)

    answer = Readiness("thing", "c++", ready=ready, version="1.2", code="E-NODE-BROKEN", missing="no cable")
    monkeypatch.setitem(work.BUILDERS, "c++", build)
    monkeypatch.setattr(work, "readiness", lambda *_: answer)


def test_a_failed_build_shows_the_tools_last_words_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, fails=True)
    outcome = work.build_one(target(tmp_path))
    assert (outcome.good, outcome.code, outcome.error, outcome.remedy) == (
        False,
        "E-COMMAND-FAILED",
        "it failed",
        "mend it",
    )
    assert outcome.detail == "the compiler's own words"


def test_where_packages_are_missing_the_remedy_is_to_install_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, fails=True, why="fatal error: a.h: No such file or directory")
    outcome = work.build_one(target(tmp_path, apt=("libb-dev", "liba-dev")))
    assert lacking(tag(outcome.code, outcome.error), "E-PACKAGES-MISSING liba-dev libb-dev") == []
    assert outcome.remedy == "sudo apt-get install liba-dev libb-dev"
    assert outcome.detail == "it failed"


def test_another_error_stays_although_packages_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fails=True)
    outcome = work.build_one(target(tmp_path, apt=("liba-dev",)))
    assert (outcome.code, outcome.error) == ("E-COMMAND-FAILED", "it failed")
    assert outcome.detail == "the compiler's own words"
    assert outcome.remedy.startswith("mend it; liba-dev is not installed")
    assert "sudo apt-get install liba-dev" in outcome.remedy


@pytest.mark.parametrize("code", ["E-NOT-INSTALLED", "E-NO-PYTHON", "E-NO-WHEEL", "E-VALUE-FORM"])
def test_an_error_that_no_package_causes_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    use(monkeypatch, fails=True, code=code, why="X is missing")
    outcome = work.build_one(target(tmp_path, apt=("liba-dev",)))
    assert (outcome.code, outcome.remedy, outcome.missing) == (code, "mend it", [])


def test_a_library_that_is_there_without_its_package_is_good_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, fails=False)
    outcome = work.build_one(target(tmp_path, apt=("liba-dev",)))
    assert (outcome.good, outcome.version, outcome.missing) == (True, "1.2", [])


def test_a_node_that_does_not_start_was_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fails=False, ready=False)
    outcome = work.build_one(target(tmp_path))
    assert lacking(tag(outcome.code, outcome.error), "E-NODE-BROKEN no cable") == []


def test_what_was_named_must_be_built_and_the_rest_may_lack_libraries(tmp_path: Path) -> None:
    good, poor = work.Outcome(target(tmp_path)), work.Outcome(target(tmp_path), error="e", missing=["liba-dev"])
    broken = work.Outcome(target(tmp_path), error="e")
    assert not is_failure([good, poor], for_scenario=False, named=False)
    assert is_failure([good, poor], for_scenario=False, named=True)
    assert is_failure([good, broken], for_scenario=False, named=False)
    unpublished = work.Outcome(target(tmp_path), error="e", code="E-NO-WHEEL")
    assert not is_failure([good, unpublished], for_scenario=False, named=False)
    assert is_failure([good, unpublished], for_scenario=False, named=True)
    assert not is_failure([good, broken], for_scenario=True, named=False)
    assert is_failure([broken], for_scenario=True, named=False)


def test_the_log_keeps_everything_and_the_error_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = "import sys; [print('line', i, flush=True) for i in range(100)]; sys.stderr.write('gone\\n'); sys.exit(3)"
    with pytest.raises(BuildError) as failed:
        run_logged([sys.executable, "-c", script], log, remedy="mend it")
    assert "line 0\n" in log.read_text()
    assert failed.value.detail.splitlines()[-1] == "gone"
    assert "line 0\n" not in failed.value.detail
    assert str(log) in failed.value.what


def test_a_tool_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"no-such-tool .*E-NO-TOOL") as failed:
        run_logged(["no-such-tool"], tmp_path / "log", remedy="install it")
    assert failed.value.remedy == "install it"


STAYS_FOR_ITS_CHILD = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, lambda *_: None)
sys.exit(subprocess.run([sys.executable, "-c", "import signal; signal.pause()"]).returncode)
"""
"""A replacement for CMake."""


def built_by(monkeypatch: pytest.MonkeyPatch, **builders: object) -> None:
    """Replace the build tools with the given functions; the argument `cpp` replaces the C++ build."""
    use(monkeypatch, fails=False)
    monkeypatch.setattr(work, "_instrument", lambda _: Path())
    for language, build in builders.items():
        monkeypatch.setitem(work.BUILDERS, language.replace("cpp", "c++"), build)


def test_languages_are_built_in_parallel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    met = threading.Barrier(4, timeout=60)
    begun: list[str] = []
    meet = dict.fromkeys(("cpp", "rust", "python"), lambda *_: met.wait())
    built_by(monkeypatch, **meet)
    targets = [target(tmp_path, language) for language in ("c++", "rust", "c++", "python")]
    built = list(work.build_all(targets, lambda one: begun.append(one.language)))
    assert all(outcome.good for outcome in built)
    assert sorted(begun) == sorted(outcome.target.language for outcome in built) == ["c++", "c++", "python", "rust"]


@pytest.mark.parametrize("language", ["rust", "python"])
def test_adapters_in_one_language_are_built_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    alone = threading.Lock()

    def build(_target: Target, _log: Path) -> None:
        assert alone.acquire(blocking=False), f"another adapter in {language} is still being built"
        time.sleep(0.05)  # long enough for a concurrent build to fail
        alone.release()

    built_by(monkeypatch, **{language: build})
    built = list(work.build_all([target(tmp_path, language)] * 3, lambda _: None))
    assert [outcome.error for outcome in built] == [""] * 3


def test_packages_of_the_system_come_beside_what_needs_none_and_before_what_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rust_is_built, order = threading.Event(), []

    def install(packages: list[str]) -> list[str]:
        assert rust_is_built.wait(60), "nothing is built meanwhile"
        order.extend(packages)
        return []

    def build_rust(*_: object) -> None:
        order.append("rust")
        rust_is_built.set()

    built_by(monkeypatch, rust=build_rust, cpp=lambda *_: order.append("c++"))
    monkeypatch.setattr(system, "install", install)
    needs = target(tmp_path, "c++", apt=("liba",))
    built = list(work.build_all([needs, target(tmp_path, "rust")], lambda _: None, system_packages=True))
    assert all(outcome.good for outcome in built)
    assert order == ["rust", "liba", "c++"]


def test_python_packages_of_a_cpp_adapter_are_installed_before_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    monkeypatch.setattr(work, "kit", lambda: None)
    monkeypatch.setattr(work.python, "build", lambda _manifest, offer, _log: order.extend(offer.pip))
    monkeypatch.setattr(work.cpp, "build", lambda *_: order.append("cmake"))
    for pip in (["wheel-with-headers"], []):
        manifest = transport("thing", languages={"c++": {"waits": ["block"], "library": "L", "pip": pip}})
        manifest._folder = tmp_path
        work.BUILDERS["c++"](Target(manifest, manifest.offers["c++"]), tmp_path / "log")
    assert order == ["wheel-with-headers", "cmake", "cmake"]


def test_who_loses_interest_ends_what_is_under_way_and_begins_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = threading.Barrier(work.COMPILERS + 1, timeout=60)
    begun: list[str] = []
    ended: list[int] = []

    def for_ever(_target: Target, _log: Path) -> None:
        running.wait()
        ended.append(subprocesses.run([sys.executable, "-c", STAYS_FOR_ITS_CHILD]).returncode)

    built_by(monkeypatch, cpp=for_ever, python=lambda *_: running.wait())
    targets = [target(tmp_path, language) for language in ("c++", "c++", "c++", "c++", "python")]
    with closing(work.build_all(targets, lambda one: begun.append(one.language))) as built:
        assert next(built).target.language == "python"
    assert sorted(begun) == ["c++", "c++", "python"]
    assert len(ended) == 2, "they end by themselves, with their children"


def test_who_needs_what_another_makes_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = threading.Event()

    def make(_target: Target, _log: Path) -> None:
        time.sleep(0.05)
        made.set()

    def use_it(_target: Target, _log: Path) -> None:
        assert made.is_set(), "it is not there yet"

    built_by(monkeypatch, cpp=make, python=use_it)
    targets = [target(tmp_path, "python", after="c++"), target(tmp_path, "c++")]
    assert all(outcome.good for outcome in work.build_all(targets, lambda _: None))


def test_what_takes_longest_begins_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built_by(monkeypatch, rust=lambda *_: None)
    targets = [target(tmp_path, "rust", seconds=seconds) for seconds in (None, 3, 20)]
    begun: list[Target] = []
    assert len(list(work.build_all(targets, begun.append))) == 3
    assert begun == targets[::-1]
