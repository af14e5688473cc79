"""A request for advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hopmeter.api.runs import RunPath
from hopmeter.api.start import option_words
from hopmeter.errors import UsageError
from hopmeter.hosts.coordinator.host_options import HostOptions

MESSAGE = "message"
"""The scenario for messages that are described by options instead of a named scenario."""
THIS_MACHINE = HostOptions()


@dataclass(frozen=True)
class Request:
    """A request for advice from the command line or a program."""

    scenario: str
    now: str | None
    given: Mapping[str, Any]
    settings: Sequence[str]
    command: Sequence[str]
    hosts: HostOptions = THIS_MACHINE
    build: bool = False
    """Whether to first build the adapters and codecs that are not ready."""

    @classmethod
    def of(
        cls,
        asked: RunPath | None,
        now: str | None,
        options: Mapping[str, Any],
        settings: Sequence[str],
        hosts: HostOptions = THIS_MACHINE,
        build: bool = False,
    ) -> Request:
        """Return a checked request. Raises UsageError if the request has neither a scenario nor both a payload and a
        rate."""
        given = {name: value for name, value in options.items() if value is not None}
        if asked is None and not {"payload", "rate"} <= given.keys():
            raise UsageError(
                "E-ADVISE-WHAT",
                "hopmeter advise needs a scenario, or the size and the rate of your messages",
                "hopmeter advise robot-head, or hopmeter advise --payload bytes:1000 --rate 100; in a terminal, "
                "`hopmeter advise` asks for them",
            )
        words = ["hopmeter", "advise", *([str(asked)] if asked is not None else [])]
        words += [*option_words(given), *(word for each in settings for word in ("--set", each))]
        name = MESSAGE if asked is None else str(asked)
        command = [*words, *(["--now", now] if now else []), *(["--build"] if build else []), *hosts.words]
        return cls(name, now, given, settings, command, hosts, build)
