"""Configures TLS between coordinator and agent. One private certificate authority signs the certificates of both
sides."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from hopmeter.errors import UsageError


@dataclass(frozen=True)
class TlsFiles:
    """The certificate and the key of this side, and the certificate of the authority that signed the peer's
    certificate."""

    cert: Path
    key: Path
    ca: Path

    def context(self, *, is_agent: bool, named: str) -> ssl.SSLContext:
        """Return the TLS context for the agent or for the coordinator. `named` lists the command-line options or
        configuration keys that name the TLS files. Raises UsageError if a TLS file is unusable."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_agent else ssl.PROTOCOL_TLS_CLIENT)
        made.minimum_version = ssl.TLSVersion.TLSv1_3
        made.verify_mode = ssl.CERT_REQUIRED
        if is_agent:
            made.num_tickets = 0
        try:
            made.load_verify_locations(self.ca)
            # Without the argument `password`, the library would prompt for the password of an encrypted key.
            made.load_cert_chain(self.cert, self.key, password="")
        except (OSError, ValueError) as cause:
            files = f"{self.cert}, {self.key} and {self.ca}"
            what = f"{named}: {files} are not a certificate, its key and its authority: {cause}"
            raise UsageError("E-HOST-TLS", what, "specify PEM files; the key must not need a password") from cause
        return made
