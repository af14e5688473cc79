"""Writes the lock files in setup/, with an exact version and hashes for each Python package that a checkout installs.

`python -m hopmeter.build.lock [--upgrade]` (`make lock`) reads pyproject.toml, the transports' `pip` lists, and the
packages of codecs that need an older NumPy. The lock files do not record from which package index the packages come.
The lock files contain hashes for source archives, and for wheels for CPython on Linux.

python.lock contains all packages. numpy1.lock is for codecs that conflict with current NumPy, and contains only the
packages that differ from python.lock. TRANSPORT-INSTALLATION.lock is for one installation of a transport's library, and
contains only the packages that differ from python.lock.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import parse_wheel_filename

from hopmeter.codecs import lookup
from hopmeter.manifest.discovery import every
from hopmeter.system import paths

NAMES = ("python.lock", "numpy1.lock")
ENTRY = re.compile(r"^(\S+?)==\S.*\n(?:\s.*\n)*", re.MULTILINE)
"""Matches a package's entry in a lock file, with its version and hashes."""
HASH = re.compile(r" \\\n    --hash=sha256:(\w+)")
COMPILE = (sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11")
HOSTLESS = ("--no-header", "--no-emit-index-url", "--no-emit-find-links", "--no-annotate")
PROCESSORS = ("x86_64", "aarch64")


def arguments(packages: Iterable[str], environment: str = "") -> list[str | Path]:
    """Return the `uv pip install` arguments for the first lock file that does not conflict with the packages, or an
    empty list.

    The environment's own lock file is tried before python.lock and numpy1.lock.
    """
    tree = paths.checkout()
    wanted = [*packages]
    files = [tree / "setup" / name for name in (f"{environment}.lock", *NAMES)] if tree else []
    files = [file for file in files if file.exists()]
    file = next((each for each in files if not conflicts(each, wanted)), None)
    return [] if file is None else ["--constraint", _whole_file(file)]


def _whole_file(file: Path) -> Path:
    """Return the path of a lock file that contains all packages.

    If the lock file contains only differences from python.lock, return a complete copy in the cache.
    """
    if file.name == NAMES[0]:
        return file
    whole = paths.cache() / "locks" / file.name
    whole.parent.mkdir(parents=True, exist_ok=True)
    whole.write_text(whole_lock(file))
    return whole


def whole_lock(file: Path) -> str:
    """Return a lock file's text, completed with the packages from python.lock."""
    first = _entries(file.with_name(NAMES[0]))
    return "".join((first | _entries(file)).values())


def _entries(file: Path) -> dict[str, str]:
    """Return a lock file's entries by package. If a package has entries for different Python versions, its entries are
    joined."""
    found: dict[str, str] = {}
    for entry in ENTRY.finditer(file.read_text()):
        found[entry[1]] = found.get(entry[1], "") + entry[0]
    return found


def conflicts(file: Path, packages: Iterable[str]) -> list[str]:
    """Return the requirements that the locked versions do not satisfy.

    A package that is not in the lock file never conflicts.
    """
    locked = pins(file)
    return [text for text in packages if not _accepts(text, locked)]


def pins(file: Path) -> dict[str, list[str]]:
    """Return each package's locked versions. A package has several locked versions if the version depends on the Python
    version."""
    found: dict[str, list[str]] = {}
    for line in whole_lock(file).splitlines():
        name, equal, rest = line.partition("==")
        if equal and not line.startswith(" "):
            found.setdefault(name, []).append(rest.split()[0])
    return found


def _accepts(text: str, locked: dict[str, list[str]]) -> bool:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:  # the requirement is a path to a local file, which is never locked
        return True
    versions = locked.get(normalize(requirement.name), [])
    return not versions or any(requirement.specifier.contains(version, prereleases=True) for version in versions)


def normalize(name: str) -> str:
    """Return a package's name as lock files spell it."""
    return name.lower().replace("_", "-").replace(".", "-")


def transport_packages(tree: Path) -> list[str]:
    """Return the packages in the `pip` lists of all manifests."""
    manifests = [tomllib.loads(file.read_text()) for file in sorted(tree.glob("transports/*/transport.toml"))]
    return [text for each in manifests for text in each["languages"].get("python", {}).get("pip", [])]


def installations(tree: Path) -> dict[str, list[str]]:
    """Return each installation's `pip` list, keyed by environment name."""
    manifests = every([tree / "transports"]).values()
    return {
        f"{each.name}-{name}": one.pip
        for each in manifests
        for part in each.languages.values()
        for name, one in part.installations.items()
        if one.pip
    }


def conflicting_packages() -> list[str]:
    """Return the packages of the codecs that need separate environments."""
    return sorted({text for module in lookup.codecs().values() for text in getattr(module, "APART", ())})


def write(file: Path, packages: Sequence[str], *options: str) -> None:
    """Write one lock file.

    Locked versions that still satisfy the requirements are kept, unless the command line contains `--upgrade`.
    """
    command = [*COMPILE, *HOSTLESS, "--generate-hashes", *options, "-o", str(file), "-"]
    subprocess.run(command, input="\n".join(packages), text=True, check=True, stdout=subprocess.DEVNULL)
    omit_other_systems(file)


def omit_other_systems(file: Path) -> None:
    """Remove the hashes of wheels for other operating systems from a lock file."""
    named = subprocess.run(
        [*COMPILE, "--no-deps", "--format", "pylock.toml", file], text=True, check=True, stdout=subprocess.PIPE
    )
    kept = set()
    for package in tomllib.loads(named.stdout)["packages"]:
        wheels = [each for each in package.get("wheels", []) if is_for_linux(unquote(each["url"].rpartition("/")[2]))]
        archive = [package["sdist"]] if "sdist" in package else []
        kept |= {each["hashes"]["sha256"] for each in wheels + archive}
    file.write_text(HASH.sub(lambda found: found[0] if found[1] in kept else "", file.read_text()))


def is_for_linux(wheel: str) -> bool:
    """Return whether CPython on Linux, with glibc and the GIL, can install a wheel."""
    return any(
        tag.interpreter.startswith(("cp", "py"))
        and not tag.abi.endswith("t")
        and (
            tag.platform == "any"
            or (tag.platform.startswith(("manylinux", "linux")) and tag.platform.endswith(PROCESSORS))
        )
        for tag in parse_wheel_filename(wheel)[-1]
    )


def write_differences(file: Path, packages: Sequence[str], *options: str) -> None:
    """Write a lock file that contains only the differences from python.lock."""
    file.touch()
    file.write_text(whole_lock(file))
    write(file, packages, *options)
    first = _entries(file.with_name(NAMES[0]))
    file.write_text("".join(text for name, text in _entries(file).items() if text != first.get(name)))


def _read_options() -> list[str]:
    """Return the options of `uv pip compile` that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m hopmeter.build.lock", description=main.__doc__)
    parser.add_argument("--upgrade", action="store_true", help="use the newest versions of the Python packages")
    return ["--upgrade"] if parser.parse_args().upgrade else []


def main() -> None:
    """Write all lock files."""
    tree = paths.checkout()
    if tree is None:
        sys.exit("lock files are part of a checkout; run this command in one")
    packages, options = transport_packages(tree), _read_options()
    write(tree / "setup" / NAMES[0], packages, "--all-extras", str(tree / "pyproject.toml"), *options)
    write_differences(tree / "setup" / NAMES[1], [*packages, *conflicting_packages()], *options)
    for environment, wanted in installations(tree).items():
        write_differences(tree / "setup" / f"{environment}.lock", wanted, *options)


if __name__ == "__main__":
    main()
