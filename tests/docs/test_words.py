"""Tests for the word check, which reports the position and the remedy, and reads only prose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "setup/words.py"


def check(file: Path, text: str) -> list[str]:
    file.write_text(text)
    said = subprocess.run([sys.executable, str(SCRIPT), file.name], cwd=file.parent, capture_output=True, text=True)
    assert said.stderr == ""
    assert said.returncode == bool(said.stdout)
    return said.stdout.splitlines()


def test_a_finding_has_its_place_and_a_remedy(tmp_path: Path) -> None:
    assert check(tmp_path / "page.md", "# Fine\n\nThe value is told.\n") == [
        'page.md:3: "told": better reported, listed, passed; or name what says it'
    ]


@pytest.mark.parametrize(
    "text", ["`told`", "```\ntold\n```", "[report](told.md)", '<a href="told">', "It is reported and retold."]
)
def test_code_and_links_are_no_prose(tmp_path: Path, text: str) -> None:
    assert check(tmp_path / "page.md", text + "\n") == []


def test_python_is_read_by_its_comments_and_sentences(tmp_path: Path) -> None:
    source = 'kept = "kept"  # a name, and a key\nsay(f"{kept} was\\nlent")\n\n\n# is told\n"""\nIt asked.\n"""\n'
    places = [found.split(": better")[0] for found in check(tmp_path / "code.py", source)]
    assert places == ['code.py:2: "lent"', 'code.py:5: "told"', 'code.py:7: "asked"']


def test_toml_is_read_by_its_comments_and_sentences(tmp_path: Path) -> None:
    source = """asked = "kept"  # is told
help = "What `told` means \\" when lent"
files = { "asked.py" = '''
# the code asked
''' }
text = 'It lies "there"'
"""
    places = [found.split(": better")[0] for found in check(tmp_path / "values.toml", source)]
    assert places == ['values.toml:1: "told"', 'values.toml:2: "lent"', 'values.toml:6: "lies"']
