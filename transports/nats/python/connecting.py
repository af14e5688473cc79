"""Connects to nats-server, with TLS if the setting `security` requests it."""

from __future__ import annotations

import logging
import ssl
from typing import Any

import nats
from nats.aio.client import Client

from hopmeter.node.contract import Setup
from hopmeter.node.credentials import client_context


async def connect(setup: Setup) -> Client:
    """Return a new connection. With TLS, the client trusts only brokers with a certificate of this trial."""
    trusted = client_context(setup)
    more: dict[str, Any] = {"tls": trusted, "error_cb": _report_error} if trusted else {}
    return await nats.connect(f"nats://{setup.broker}", pending_size=1 << 28, **more)


async def _report_error(error: Exception) -> None:
    """Raise the error if the client does not trust the broker, because nats-py would otherwise try to connect again for
    two minutes. Log every other error."""
    if isinstance(error, ssl.SSLCertVerificationError):
        raise error
    logging.getLogger("nats").error("nats-py: %s", error)
