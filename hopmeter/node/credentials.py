"""The keys and certificates that hopmeter created for a trial whose connections are encrypted."""

from __future__ import annotations

from pathlib import Path

from hopmeter.node.contract import Setup


def credential(setup: Setup, name: str) -> Path:
    """Return the path of a file with a key or certificate, such as `server.secret` or `ca.pem`."""
    return Path(setup.directory, "credentials", name)
