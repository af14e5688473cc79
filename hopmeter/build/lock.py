"""Writes the lock files in setup/: an exact version and hashes for each Python package that a checkout installs.

`python -m hopmeter.build.lock [--upgrade]` (`make lock`) writes them from pyproject.toml, the `pip` lists of the
transports and the codecs that need an older NumPy. The lock files do not record where a package comes from.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from hopmeter.codecs import lookup
from hopmeter.system import paths

NAMES = ("python.lock", "numpy1.lock")
"""The lock files: one for all packages together, and one for the codecs that conflict with today's NumPy."""
COMPILE = ("pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes", "--no-header")
HOSTLESS = ("--no-emit-index-url", "--no-emit-find-links", "--no-annotate")


def arguments(packages: Iterable[str]) -> list[str | Path]:
    """Return the arguments that make `uv pip install` use locked versions; empty if no lock file agrees with the
    packages."""
    tree = paths.checkout()
    wanted = [*packages]
    files = [tree / "setup" / name for name in NAMES] if tree else []
    return next((["--constraint", file] for file in files if not conflicts(file, wanted)), [])


def conflicts(file: Path, packages: Iterable[str]) -> list[str]:
    """Return the packages whose locked versions do not satisfy these requirements; a package that the lock file lacks
    is no conflict."""
    locked = pins(file)
    return [text for text in packages if not _accepts(text, locked)]


def pins(file: Path) -> dict[str, list[str]]:
    """Return the versions of each package in a lock file; a package has several if they differ by Python version."""
    found: dict[str, list[str]] = {}
    for line in file.read_text().splitlines():
        name, equal, rest = line.partition("==")
        if equal and not line.startswith(" "):
            found.setdefault(name, []).append(rest.split()[0])
    return found


def _accepts(text: str, locked: dict[str, list[str]]) -> bool:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:  # the path of a local file, which the lock file does not contain
        return True
    versions = locked.get(normalize(requirement.name), [])
    return not versions or any(requirement.specifier.contains(version, prereleases=True) for version in versions)


def normalize(name: str) -> str:
    """Spell a package's name as lock files do."""
    return name.lower().replace("_", "-").replace(".", "-")


def transport_packages(tree: Path) -> list[str]:
    """Return the `pip` lists of all manifests."""
    manifests = [tomllib.loads(file.read_text()) for file in sorted(tree.glob("transports/*/transport.toml"))]
    return [text for each in manifests for text in each["languages"].get("python", {}).get("pip", [])]


def conflicting_packages() -> list[str]:
    """Return the packages of the codecs that have separate environments."""
    return sorted({text for module in lookup.codecs().values() for text in getattr(module, "APART", ())})


def write(file: Path, packages: Sequence[str], *options: str) -> None:
    """Write one lock file; locked versions that still fit stay, unless the options include `--upgrade`."""
    command = [sys.executable, "-m", "uv", *COMPILE, *HOSTLESS, *options, "-o", str(file), "-"]
    subprocess.run(command, input="\n".join(packages), text=True, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Write both files."""
    tree = paths.checkout()
    if tree is None:
        sys.exit("lock files are part of a checkout; run this command in one")
    packages, options = transport_packages(tree), sys.argv[1:]
    write(tree / "setup" / NAMES[0], packages, "--all-extras", str(tree / "pyproject.toml"), *options)
    write(tree / "setup" / NAMES[1], [*packages, *conflicting_packages()], *options)


if __name__ == "__main__":
    main()
