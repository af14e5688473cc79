"""The keys and certificates that hopmeter created for a trial whose connections are encrypted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hopmeter.node.contract import Setup

if TYPE_CHECKING:
    from ssl import SSLContext


def credential(setup: Setup, name: str) -> Path:
    """Return the path of a file with a key or certificate, such as `server.secret` or `ca.pem`."""
    return Path(setup.directory, "credentials", name)


def uses_tls(setup: Setup) -> bool:
    """Return whether the connections of the transport are encrypted with TLS."""
    return bool(setup.settings["security"] == "tls")


def connection_kind(setup: Setup) -> str:
    """Return the protocol of a connection over a network, `TCP` or `TLS`. The fact `path` names this protocol."""
    return "TLS" if uses_tls(setup) else "TCP"


def client_context(setup: Setup) -> SSLContext | None:
    """Return the TLS context of clients. Clients trust only servers with a certificate of this trial. Return None if
    connections are not encrypted."""
    if not uses_tls(setup):
        return None
    import ssl  # most nodes do not need this module, which is slow to import

    return ssl.create_default_context(cafile=str(credential(setup, "ca.pem")))


def server_context(setup: Setup) -> SSLContext | None:
    """Return the TLS context of servers. Servers accept every client. Return None if connections are not encrypted."""
    if not uses_tls(setup):
        return None
    import ssl

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(credential(setup, "server.pem"), credential(setup, "server.key"))
    return context
