"""The broker or master of a transport that needs one: started here for this command alone, or one that runs already."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hopmeter.errors import HopmeterError, UsageError
from hopmeter.manifest.model import Manifest
from hopmeter.node.contract import LOOPBACK
from hopmeter.runtime import daemon as launched
from hopmeter.runtime.failures import TrialFailedError


@dataclass(frozen=True)
class Broker:
    """What both ends have to know of it; nothing, where there is none."""

    address: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def told(self) -> dict[str, object]:
        """As it goes over a wire."""
        return {"address": self.address, "environment": self.environment}

    @classmethod
    def heard(cls, manifest: Manifest, said: Mapping[str, object], here: Mapping[str, str] | None = None) -> Broker:
        """What the other end told, as far as the manifest knows of it: no other variable is believed. On another
        machine only what says where the broker is; `here` fills in the rest."""
        values = said.get("environment")
        known = manifest.daemon.environment if manifest.daemon else {}
        environment = {name: str(values[name]) for name in known if isinstance(values, dict) and name in values}
        if here is not None and manifest.daemon:
            environment = manifest.daemon.environment_on(environment, here)
        return cls(str(said.get("address", "")), environment)


def given(words: Iterable[str], names: Iterable[str], option: str = "--daemon") -> dict[str, str]:
    """`mqtt=127.0.0.1:1883` by name; with one name its address alone will do."""
    known = list(names)
    found: dict[str, str] = {}
    for word in words:
        name, equals, address = word.partition("=")
        if not equals and len(known) == 1:
            name, address = known[0], word
        if name not in known:
            raise UsageError(
                "E-OPTION-VALUE", f"{option} {word} names none of {', '.join(known)}", f"write {option} NAME=ADDRESS"
            )
        found[name] = address
    return found


@contextmanager
def running(manifest: Manifest, address: str | None, directory: Path, host: str | None = None) -> Iterator[Broker]:
    """The broker of a transport while entered; ended for certain if it was started here. It listens at `host`, the
    loopback device's address without it."""
    if manifest.daemon is None or address is not None:
        yield Broker(address or "")
        return
    if manifest.daemon.program is None:
        remedy = f"hopmeter build {manifest.name} --system-packages, or say where one runs: --daemon {manifest.name}=…"
        raise HopmeterError("E-NO-BROKER", f"{manifest.daemon.title} is not installed", remedy)
    log = directory.with_name(f"{directory.name}.log")
    settings = manifest.resolve_settings({})
    ground = launched.BrokerContext(secrets.token_hex(8), directory, settings, log, host=host or LOOPBACK)
    try:
        with launched.Daemon(manifest.daemon, ground) as serving:
            yield Broker(serving.address, dict(serving.environment))
    except TrialFailedError as failed:
        raise HopmeterError(failed.code, failed.what, failed.remedy) from failed
