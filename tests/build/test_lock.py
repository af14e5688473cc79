"""The lock files contain a hash for every package of a checkout, and no registry address."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hopmeter.build import lock
from hopmeter.manifest.requirement import name
from hopmeter.system import paths
from tests.build.test_python import wheel

TREE = Path(__file__).parents[2]
TODAY, OLD_NUMPY = (TREE / "setup" / each for each in lock.NAMES)
INSTALLATIONS = {TREE / f"setup/{name}.lock": packages for name, packages in lock.installations(TREE).items()}
FILES = [*lock.NAMES, *(file.name for file in INSTALLATIONS)]


def declared_packages() -> list[str]:
    project = tomllib.loads((TREE / "pyproject.toml").read_text())
    extras = [text for extra in project["project"]["optional-dependencies"].values() for text in extra]
    return [*project["build-system"]["requires"], *project["project"]["dependencies"], *extras]


@pytest.mark.parametrize(
    ("file", "packages"),
    [
        (TODAY, [*declared_packages(), *lock.transport_packages(TREE)]),
        (OLD_NUMPY, [*lock.conflicting_packages(), *lock.transport_packages(TREE)]),
        *INSTALLATIONS.items(),
    ],
    ids=FILES,
)
def test_every_package_is_locked_in_a_version_that_fits(file: Path, packages: list[str]) -> None:
    assert lock.conflicts(file, packages) == [], "run `make lock`"
    locked = lock.pins(file)
    assert [text for text in packages if lock.normalize(name(text)) not in locked] == [], "run `make lock`"


@pytest.mark.parametrize("file", [TODAY, OLD_NUMPY, *INSTALLATIONS], ids=FILES)
def test_every_locked_version_has_a_hash_and_none_a_host(file: Path) -> None:
    entries = file.read_text().replace("\\\n", " ").splitlines()
    assert entries
    assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []
    assert [entry for entry in entries if "://" in entry or "--index" in entry or "--find-links" in entry] == []


@pytest.mark.parametrize(
    ("tags", "kept"),
    [
        ("py3-none-any", True),
        ("cp311-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64", True),
        ("cp313-cp313-manylinux_2_28_aarch64", True),
        ("py3-none-manylinux_2_12_x86_64.musllinux_1_1_x86_64", True),
        ("cp313-cp313-musllinux_1_2_x86_64", False),
        ("cp313-cp313t-manylinux_2_28_x86_64", False),
        ("pp311-pypy311_pp73-manylinux_2_28_x86_64", False),
        ("cp313-cp313-manylinux_2_17_s390x", False),
        ("cp311-cp311-macosx_11_0_arm64", False),
    ],
)
def test_only_wheels_for_cpython_on_linux_are_locked(tags: str, kept: bool) -> None:
    assert lock.is_for_linux(f"loner-1.0-{tags}.whl") == kept


def test_the_first_lock_that_agrees_is_taken_and_none_outside_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lock.arguments(["redis"]) == ["--constraint", TODAY]
    _, differences = lock.arguments(["numpy==1.23.5"])
    assert Path(differences).read_text() == lock.whole_lock(OLD_NUMPY)
    assert lock.arguments(["numpy==1.0"]) == []
    own, packages = next(iter(INSTALLATIONS.items()))
    _, of_environment = lock.arguments(packages, own.stem)
    assert Path(of_environment).read_text() == lock.whole_lock(own)
    monkeypatch.setattr(paths, "checkout", lambda: None)
    assert lock.arguments(["redis"]) == []


def test_a_package_with_another_hash_is_refused(tmp_path: Path) -> None:
    package = wheel(tmp_path, "loner")
    for digest, good in [(hashlib.sha256(package.read_bytes()).hexdigest(), True), ("0" * 64, False)]:
        constraint = tmp_path / "python.lock"
        constraint.write_text(f"loner==1.0 --hash=sha256:{digest}\n")
        place = ["--target", tmp_path / digest, "--no-cache", "--no-index", "--find-links", tmp_path]
        said = subprocess.run(
            [sys.executable, "-m", "uv", "pip", "install", *place, "--constraint", constraint, "loner"],
            capture_output=True,
            text=True,
        )
        assert (said.returncode == 0) == good, said.stderr
        assert (tmp_path / digest / "loner.py").exists() == good
