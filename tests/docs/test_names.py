"""Tests for the name check, which finds functions that are named by a bare participle, in three languages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "setup/names.py"
FOUND = {
    "told.py": "class A:\n    def _told(self): ...\n    def tell(self): ...\n",
    "measured.rs": "impl A {\n    pub(crate) fn measured(&self) -> u64 {}\n    fn measure_all() {}\n}\n",
    "opened.hpp": "struct A {\n  int opened() const { return 0; }\n  int speed() const { return told(1); }\n};\n",
}
STAY = {
    "a.py": "import pytest\n@pytest.fixture\ndef stored(): ...\ndef need(): ...\ndef played_by(): ...\n",
    "a.rs": "fn seed() {}\n// fn told() is not code\nlet kept = told();\n",
}


def check(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, CHECK, path], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", FOUND)
def test_a_bare_participle_is_found_with_its_line_and_a_remedy(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FOUND[name])
    done = check(tmp_path / name)
    assert done.returncode == 1
    assert done.stdout.startswith(f"{tmp_path / name}:2: `")
    assert (len(done.stdout.splitlines()), "verb" in done.stdout) == (1, True)


@pytest.mark.parametrize("name", STAY)
def test_other_names_pass(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(STAY[name])
    assert (check(tmp_path / name).returncode, check(tmp_path / name).stdout) == (0, "")
