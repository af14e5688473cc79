"""Finds missing system packages, and installs them.

`python -m hopmeter.build.system PACKAGE…` installs missing packages if no password is needed, and otherwise prints the
install command. With --required, missing packages are an error. With --lean, recommended packages are not installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable

Command = list[str]


def missing(packages: Iterable[str]) -> list[str]:
    """Return the packages that are not installed according to dpkg, or an empty list if dpkg is not available."""
    wanted = sorted(set(packages))
    if not wanted or shutil.which("dpkg-query") is None:
        return []
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *wanted]
    listed = subprocess.run(query, capture_output=True, text=True, check=False).stdout.splitlines()
    present = {line.split()[0] for line in listed if line.endswith(" installed")}
    return [package for package in wanted if package not in present]


def line_for(packages: Iterable[str]) -> str:
    """Return the command that installs the packages."""
    return f"sudo apt-get install {' '.join(packages)}"


def rights() -> Command | None:
    """Return the command prefix that runs apt-get as root: `sudo -n`, or nothing for root.

    Return None if apt-get or sudo is missing, or if sudo needs a password.
    """
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    granted = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
    return ["sudo", "-n"] if granted else None


def install(packages: Iterable[str], lean: bool = False) -> list[str]:
    """Install missing packages if possible, and return the packages that are still missing.

    If `lean` is set, recommended packages are not installed.
    """
    wanted = missing(packages)
    as_root = rights()
    if not wanted or as_root is None:
        return wanted
    print(f"installing {' '.join(wanted)} with apt", file=sys.stderr, flush=True)
    get = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    # apt's package list may be out of date or, in a fresh container, missing.
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
    """Install the packages when called by the Makefile, and return the exit code."""
    required = "--required" in arguments
    left = install((word for word in arguments if not word.startswith("--")), lean="--lean" in arguments)
    if left:
        print(f"missing: {' '.join(left)}\n  {line_for(left)}", file=sys.stderr)
        if not required:
            print("  adapters that need these packages are skipped; all others are built", file=sys.stderr)
    return 1 if left and required else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
