"""Tests for the glossary check, which finds retired words in prose and names, and types that share a glossary word."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from setup.glossary import GLOSSARY, read_retired

CHECK = Path(__file__).parents[2] / "setup/glossary.py"


def check(folder: Path, **files: str) -> list[str]:
    (folder / "hopmeter").mkdir()
    paths = {f"hopmeter/{name.replace('_', '.')}": text for name, text in files.items()}
    for path, text in paths.items():
        (folder / path).write_text(text)
    done = subprocess.run([sys.executable, CHECK, *paths], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", bool(done.stdout))
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x_md", "Fine.\nThe intended time."),
        ("x_py", 'def f(sent):\n    return "when it was intended"'),
        ("x_py", "seq = 1\nintended_ns = 2"),
        ("x_rs", "// Fine.\nlet all_intended = 2;"),
        ("x_hpp", "struct A {\n  int askInTurn();\n};"),
        ("x_toml", "# Fine.\nhelp = 'Brokers take turns.'"),
    ],
)
def test_a_retired_word_is_found_with_its_line_and_what_to_say_instead(tmp_path: Path, name: str, text: str) -> None:
    (found,) = check(tmp_path, **{name: text})
    assert found.startswith(f"hopmeter/{name.replace('_', '.')}:2: ") and " is retired: " in found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x_md", "`intended_ns` is an old name. This was unintended."),
        ("x_py", 'OLD = {"intended_ns": "due_ns"}  # "intended"'),
        ("x_rs", '#[serde(rename = "intended_ns")]\nfor turn in turns {}'),
    ],
)
def test_names_of_older_files_and_other_words_pass(tmp_path: Path, name: str, text: str) -> None:
    assert check(tmp_path, **{name: text}) == []


def test_every_retired_word_has_another_one() -> None:
    retired = read_retired(GLOSSARY.read_text())
    assert len(retired) >= 3
    assert all(each.instead and not any(other.find(each.instead) for other in retired) for each in retired)


def test_two_types_of_one_language_may_not_share_a_word_of_the_glossary(tmp_path: Path) -> None:
    clash = {
        "a_py": "class Broker: ...",
        "b_py": "class Broker: ...",
        "c_rs": "pub struct Broker;",
        "d_py": "class Other: ...",
    }
    (found,) = check(tmp_path, **clash, e_py="class Other: ...")
    assert found.startswith("hopmeter/b.py: hopmeter/a.py has a type `Broker` too")
