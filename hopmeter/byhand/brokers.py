"""The broker or master of a transport that needs one: started here for this command alone, or one that runs already."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hopmeter.errors import HopmeterError, UsageError
from hopmeter.launch import daemon as launched
from hopmeter.launch.failure import TrialFailedError
from hopmeter.manifest.model import Manifest


@dataclass(frozen=True)
class Broker:
    """What both ends have to know of it; nothing, where there is none."""

    address: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def told(self) -> dict[str, object]:
        """As it goes over a wire."""
        return {"address": self.address, "environment": self.environment}

    @classmethod
    def heard(cls, manifest: Manifest, said: Mapping[str, object]) -> Broker:
        """What the other end told, as far as the manifest knows of it: no other variable is believed."""
        values = said.get("environment")
        known = manifest.daemon.environment if manifest.daemon else {}
        environment = {name: str(values[name]) for name in known if isinstance(values, dict) and name in values}
        return cls(str(said.get("address", "")), environment)


def given(words: Iterable[str], transports: Iterable[str]) -> dict[str, str]:
    """`mqtt=127.0.0.1:1883` by transport; with one transport its address alone will do."""
    known = list(transports)
    found: dict[str, str] = {}
    for word in words:
        name, equals, address = word.partition("=")
        if not equals and len(known) == 1:
            name, address = known[0], word
        if name not in known:
            raise UsageError(f"--daemon {word} names none of {', '.join(known)}", "write --daemon TRANSPORT=ADDRESS")
        found[name] = address
    return found


@contextmanager
def running(manifest: Manifest, address: str | None, directory: Path) -> Iterator[Broker]:
    """The broker of a transport while entered; ended for certain if it was started here."""
    if manifest.daemon is None or address is not None:
        yield Broker(address or "")
        return
    if manifest.daemon.program is None:
        remedy = f"hopmeter build {manifest.name} --system-packages, or say where one runs: --daemon {manifest.name}=…"
        raise HopmeterError(f"{manifest.daemon.title} is not installed", remedy)
    ground = launched.Ground(
        secrets.token_hex(8), directory, manifest.settled({}), directory.with_name(f"{directory.name}.log")
    )
    try:
        with launched.Daemon(manifest.daemon, ground) as serving:
            yield Broker(serving.address, dict(serving.environment))
    except TrialFailedError as failed:
        raise HopmeterError(failed.reason, failed.remedy) from failed
