"""An invalid scenario or folder is reported before the measurement, with file, key, value and allowed values."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.coded import lacking
from tests.command import Ran, hopmeter

pytestmark = pytest.mark.slow

Hopmeter = Callable[..., Ran]
SOUND = 'title = "t"\nquestion = "q?"\ntransport = "unix"\nlanguage = "rust"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            SOUND + 'wiat = "block"\nrat = 5',
            ["[E-UNKNOWN-KEY]", "wrong.toml:5: ", '"wiat"', '"wait"', '"rat"', '"rate"'],
        ),
        (
            SOUND + "[settings.unix]\nsend_bufer = 1",
            ["[E-UNKNOWN-SETTING]", "settings.unix", '"send_bufer"', '"send_buffer"'],
        ),
    ],
    ids=["unknown keys", "unknown setting"],
)
def test_a_wrong_scenario_is_told_by_file_key_and_remedy(
    hopmeter_here: Hopmeter, tmp_path: Path, text: str, says: list[str]
) -> None:
    (tmp_path / "wrong.toml").write_text(text)
    ran = hopmeter_here("run", "wrong.toml")
    assert ran.returncode == 2, ran.stderr
    assert [each for each in says if each not in ran.stderr] == [], ran.stderr
    assert "Traceback" not in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.toml"], "nothing was begun"


@pytest.mark.parametrize("taken", ["here", ".here.partial"])
def test_a_results_folder_that_exists_is_left_as_it_is(hopmeter_here: Hopmeter, tmp_path: Path, taken: str) -> None:
    (tmp_path / "sound.toml").write_text(SOUND)
    (tmp_path / taken).mkdir()
    (tmp_path / taken / "mine").write_text("precious")
    ran = hopmeter_here("run", "sound.toml", "--out", "here")
    assert ran.returncode == 2
    assert lacking(ran.stderr, f"E-RUN-EXISTS {taken} --resume --out") == []
    assert [path.name for path in (tmp_path / taken).iterdir()] == ["mine"]


ASCII = [
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("beyond", ASCII, ids=["PYTHONIOENCODING", "LC_ALL"])
def test_where_only_ascii_can_be_printed_a_run_is_measured_shown_and_reported(
    tmp_path: Path, beyond: dict[str, str]
) -> None:
    text = SOUND.replace("q?", "qu\u00e9?") + "messages = 30\ntrials = 1\n"
    (tmp_path / "small.toml").write_text(text, encoding="utf-8")
    ran = hopmeter("run", "small.toml", "--out", "run", cwd=tmp_path, env={**os.environ, **beyond})
    assert ran.returncode == 0, ran.stderr
    assert "p50 ?s" in ran.stdout
    assert "qu\u00e9?" in (tmp_path / "run/report.html").read_text(encoding="utf-8")
    shown = hopmeter("show", "run", cwd=tmp_path, env={**os.environ, **beyond})
    assert shown.returncode == 0, shown.stderr
    assert "qu??" in shown.stdout


def test_escape_sequences_of_a_scenario_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    question = '"\\u001b]0;owned\\u0007\\u001b[2Jis [this][/it]?"'
    (tmp_path / "loud.toml").write_text(SOUND.replace('"q?"', question) + "messages = 30\ntrials = 1\n")
    ran = hopmeter("run", "loud.toml", "--no-report", "--out", "run", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    for said in (ran.stdout, hopmeter("show", "run", cwd=tmp_path).stdout):
        assert r"\x1b]0;owned" in said
        assert r"\x1b[2Jis [this][/it]?" in said
        assert not {"\x1b", "\x07"} & set(said)
