"""What starts a command as in another container or on another host: namespaces that share the files of this one.

They are made without any right, in a user namespace, and are gone when the command is.
"""

from __future__ import annotations

import shutil
import subprocess

import pytest

PIDS = ("--pid", "--fork", "--mount-proc", "--kill-child")
CLOCK = ("--time", "--boottime", "1000")
OTHER_HOST = ("--uts", "sh", "-c", 'hostname elsewhere && exec "$@"', "sh")
OWN_SHARED_MEMORY = ("--mount", "sh", "-c", 'mount -t tmpfs none /dev/shm && exec "$@"', "sh")


def inside(namespace: tuple[str, ...]) -> tuple[str, ...]:
    """The words before a command; skips the test where the machine does not allow such a namespace."""
    if shutil.which("unshare") is None:
        pytest.skip("`unshare` is not installed (util-linux)")
    before = ("unshare", "--map-root-user", *namespace)
    tried = subprocess.run([*before, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no right to make a namespace ({namespace[0]}): {tried.stderr.strip()}")
    return before
