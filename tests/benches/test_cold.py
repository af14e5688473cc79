"""Tests for the compiler flags that the bench `cold` reads from a user's LibXR build."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[2] / "benches"
ASKED = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from cold import libxr_flags
print(json.dumps(libxr_flags(Path(sys.argv[2]))))
"""
MAKE = "CXX_DEFINES = -DSCALAR=double\n\nCXX_INCLUDES = -I/xr/src -isystem /xr/lib\n\nCXX_FLAGS = -O3\n"
# Ninja lists the flags of every file; the test uses those of the library's first file.
NINJA = "".join(
    f"build {name}.o: CXX\n  DEFINES = -DSCALAR={scalar}\n  FLAGS = -O3\n  INCLUDES = -I/xr/src -isystem /xr/lib\n"
    for name, scalar in (("first", "double"), ("last", "float"))
)


def ask_flags(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ASKED, str(BENCHES), str(root)]
    return subprocess.run(command, cwd=BENCHES.parent, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("recipe", "text"), [("CMakeFiles/xr.dir/flags.make", MAKE), ("build.ninja", NINJA)])
def test_the_flags_of_either_generator_are_found(tmp_path: Path, recipe: str, text: str) -> None:
    (path := tmp_path / "build" / recipe).parent.mkdir(parents=True)
    path.write_text(text)
    done = ask_flags(tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["-DSCALAR=double", "-I/xr/src", "-isystem", "/xr/lib", f"-L{tmp_path / 'build'}"]


def test_a_libxr_without_a_build_is_named(tmp_path: Path) -> None:
    done = ask_flags(tmp_path)
    assert done.returncode != 0
    assert "FileNotFoundError" in done.stderr and str(tmp_path / "build") in done.stderr
