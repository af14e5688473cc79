"""The keys that the brokers and nodes of a test run share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hopmeter.manifest.tables.setting import OFF, SECURITY
from hopmeter.runtime.processes.credentials import FOLDER, make_credentials, write_credentials
from tests.hosts.keeper import address

ADDRESSES = tuple(map(address, range(4)))
"""The addresses of the test hosts."""


@cache
def _keys(kind: str, owner: str) -> dict[str, bytes]:
    return make_credentials({SECURITY: kind}, ADDRESSES)


def ensure_credentials(folder: Path, settings: Mapping[str, Any], owner: str = "") -> None:
    """Write the keys of `owner` into a folder, unless the folder already contains these keys. Nodes and brokers trust
    each other if their keys have the same owner."""
    files = _keys(str(settings.get(SECURITY, OFF)), owner)
    if not all((folder / FOLDER / name).exists() for name in files):
        folder.mkdir(exist_ok=True)
        write_credentials(folder, files)
