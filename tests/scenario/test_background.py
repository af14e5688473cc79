"""Tests for the table `[background]`: valid values and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.errors import UsageError
from hopmeter.scenario import files
from tests.coded import refuses

HEAD = 'title = "t"\nquestion = "q?"\n[background]\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "s.toml"
    path.write_text(HEAD + text)
    return path


@pytest.mark.parametrize(
    ("text", "cpu_percent", "memory_gb_s", "words"),
    [
        ('cpu = "50%"', 50, 0, "cpu 50%"),
        ('cpu = "12.5%"\ncores = "0,1"', 12.5, 0, "cpu 12.5%, cores 0,1"),
        ('memory = "2GB/s"', 0, 2, "memory 2GB/s"),
        ('cpu = "100%"\nmemory = "500MB/s"', 100, 0.5, "cpu 100%, memory 500MB/s"),
    ],
)
def test_a_load_has_numbers_and_words(
    tmp_path: Path, text: str, cpu_percent: float, memory_gb_s: float, words: str
) -> None:
    found = files.load(write(tmp_path, text))[0].background
    assert found is not None
    assert (found.cpu_percent, found.memory_gb_s, found.text) == (cpu_percent, memory_gb_s, words)


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("", 3, "E-MISSING-KEY background cpu memory"),
        ('cores = "0"', 3, "E-MISSING-KEY background cpu memory"),
        ('cpu = "0%"', 4, "E-VALUE-RANGE background.cpu 0% 100%"),
        ('cpu = "150%"', 4, "E-VALUE-RANGE background.cpu 150% 100%"),
        ('cpu = "half"', 4, "E-VALUE-FORM background.cpu half 50%"),
        ("cpu = 50", 4, "E-VALUE-FORM background.cpu 50"),
        ('memory = "2GB"', 4, "E-VALUE-FORM background.memory 2GB 2GB/s"),
        ('memory = "0MB/s"', 4, "E-VALUE-RANGE background.memory 0MB/s"),
        ('memory = "5000GB/s"', 4, "E-VALUE-RANGE background.memory 5000GB/s 1000GB/s"),
        ('cpu = "5%"\ncores = "all"', 5, "E-VALUE-CHOICE background.cores all same"),
        ('cpu = "5%"\ndisk = "1GB/s"', 5, 'E-UNKNOWN-KEY "disk" background'),
    ],
)
def test_a_load_that_does_not_fit(tmp_path: Path, text: str, line: int, expected: str) -> None:
    path = write(tmp_path, text)
    with refuses(UsageError, f"{expected} {path}:{line}:"):
        files.load(path)
