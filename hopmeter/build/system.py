"""Packages of the system: which are missing, and one line that gets them.

`python -m hopmeter.build.system PACKAGE…` installs what is missing where that needs no password, and says what goes
on without it where it does. With --required, missing packages are an error; with --lean, nothing that they
only recommend is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable

Command = list[str]


def missing(packages: Iterable[str]) -> list[str]:
    """Those that dpkg does not have; none where there is no dpkg to ask."""
    wanted = sorted(set(packages))
    if not wanted or shutil.which("dpkg-query") is None:
        return []
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *wanted]
    listed = subprocess.run(query, capture_output=True, text=True, check=False).stdout.splitlines()
    present = {line.split()[0] for line in listed if line.endswith(" installed")}
    return [package for package in wanted if package not in present]


def line_for(packages: Iterable[str]) -> str:
    """Return the command that a person types."""
    return f"sudo apt-get install {' '.join(packages)}"


def rights() -> Command | None:
    """Return what must precede apt-get, or None if that would ask for a password or does not exist."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    granted = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
    return ["sudo", "-n"] if granted else None


def install(packages: Iterable[str], lean: bool = False) -> list[str]:
    """Installs what is missing where that is allowed; answers what is missing still. `lean`: nothing recommended."""
    wanted = missing(packages)
    as_root = rights()
    if not wanted or as_root is None:
        return wanted
    print(f"installing {' '.join(wanted)} with apt", file=sys.stderr, flush=True)
    get = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    # The list of packages may be old or, in a fresh container, not there at all.
    put = [*get, "install", "--yes", *(["--no-install-recommends"] if lean else []), *wanted]
    if not _quiet(put):
        _quiet([*get, "update"])
        _quiet(put, tell=True)
    return missing(wanted)


def _quiet(command: Command, tell: bool = False) -> bool:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0 and tell:
        sys.stderr.write(done.stderr)
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    """Run the module for the Makefile."""
    required = "--required" in arguments
    left = install((word for word in arguments if not word.startswith("--")), lean="--lean" in arguments)
    if left:
        print(f"missing: {' '.join(left)}\n  {line_for(left)}", file=sys.stderr)
        if not required:
            print("  what needs them is skipped; the rest goes on", file=sys.stderr)
    return 1 if left and required else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
