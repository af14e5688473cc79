"""Files that authenticate a listening agent and its coordinator to each other: a shared secret, or certificates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hopmeter.errors import UsageError
from hopmeter.hosts.agent.caller import Guard
from hopmeter.hosts.protocol.agent_address import AgentAddress
from hopmeter.hosts.protocol.shared_secret import make_secret, read_secret
from hopmeter.hosts.protocol.tls import TlsFiles


@dataclass(frozen=True)
class Credentials:
    """The values of the options `--secret-file`, `--cert`, `--key` and `--ca`."""

    secret_file: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    ca: Path | None = None

    @property
    def files(self) -> dict[str, Path]:
        """Return the paths of the credential files that the user gave, keyed by the field names of the `--hosts`
        file."""
        return {name: path for name, path in vars(self).items() if path is not None}

    def check(self, address: AgentAddress) -> None:
        """Raise UsageError if the options are incomplete, leave the address unprotected, or do not apply to the
        address."""
        if address.path and self.files.keys() & {"cert", "key", "ca"}:
            raise UsageError("E-AGENT-CHANNEL", "a Unix socket has no TLS", "omit --cert, --key and --ca")
        if not address.stays_here and not self.files:
            what = f"other machines can reach {address}, so their programs could start programs under your account"
            raise UsageError("E-AGENT-EXPOSED", what, "give --secret-file FILE, or --cert, --key and --ca")
        if 0 < len(self.files.keys() & {"cert", "key", "ca"}) < 3:
            raise UsageError("E-HOST-TLS", "TLS needs all of --cert, --key and --ca", "name all three files")

    def guard(self, say: Callable[[str], None]) -> Guard:
        """Return what a peer must prove to the agent. If the secret file does not exist, this method creates it. Raises
        UsageError if a credential file is unusable."""
        tls = None
        if self.cert is not None and self.key is not None and self.ca is not None:
            tls = TlsFiles(self.cert, self.key, self.ca).context(is_agent=True, named="--cert, --key and --ca")
        path = self.secret_file
        if path is None:
            return Guard(None, tls)
        if not path.exists():
            say(f"new secret in {path}, for a file with mode 0600 on the other machine: {make_secret(path)}")
        return Guard(read_secret(path, "--secret-file"), tls)
