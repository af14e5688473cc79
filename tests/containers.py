"""Start commands as if in another container or on another host, in namespaces that share this machine's files.

The namespaces belong to an unprivileged user namespace, and disappear when the command exits.
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
    """Return the command prefix that enters the namespaces. Skip the test if the machine forbids them."""
    if shutil.which("unshare") is None:
        pytest.skip("`unshare` is not installed (util-linux)")
    before = ("unshare", "--map-root-user", *namespace)
    tried = subprocess.run([*before, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no right to make a namespace ({namespace[0]}): {tried.stderr.strip()}")
    return before
