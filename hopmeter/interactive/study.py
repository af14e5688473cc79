"""The options of `publish` and `listen`, and the pairs of transport and plugin that both commands measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from hopmeter.client.adapters import away, manifest_of
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.hosts.protocol import value_checks
from hopmeter.interactive.plugins import plugin_name, transport_name, why_no_plugin
from hopmeter.manifest.discovery import every
from hopmeter.system.toml_files import one_of

PUBLISHER, LISTENER = "publisher", "listener"
COUNTS = ("width", "height", "trials", "skip")
SAME = (*COUNTS, "rate")
"""The options that must be equal on both sides."""
MOST_NAMES, LONGEST_NAME = 200, 100
StudyCase = tuple[str, str]
"""A transport and a plugin."""


@dataclass(frozen=True)
class Side:
    """The options of the publisher or the listener, and the transports and plugins that this side lacks."""

    options: dict[str, float]
    transports: list[str]
    plugins: list[str]
    absent: dict[str, str] = field(default_factory=dict)
    """The reason why a transport or a plugin cannot be used on this side, by name."""
    brokers: dict[str, str] = field(default_factory=dict)
    """The addresses of running brokers, by transport."""
    labels: dict[str, str] = field(default_factory=dict)
    """The names as the user typed them, by hopmeter's name."""

    @classmethod
    def here(cls, options: dict[str, float], transports: Sequence[str], plugins: Sequence[str]) -> Side:
        """Return the `Side` that describes this command. `transports` and `plugins` contain names in the spelling of
        the user."""
        own = {word: transport_name(word) for word in transports} | {word: plugin_name(word) for word in plugins}
        names = list(dict.fromkeys(map(transport_name, transports))), list(dict.fromkeys(map(plugin_name, plugins)))
        absent = {name: _why_no_transport(name) for name in names[0]} | {name: why_no_plugin(name) for name in names[1]}
        labels = {name: word for word, name in own.items()}
        return cls(options, *names, {name: why for name, why in absent.items() if why}, labels=labels)

    def as_message(self) -> dict[str, Any]:
        """Convert this side to a message for the other command."""
        return {name: value for name, value in asdict(self).items() if name != "labels"}

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Side:
        """Return the side that the other command's message describes. Raises ValueError if the message is invalid."""
        given = value_checks.table(message, "options")
        options: dict[str, float] = {name: value_checks.number(given, name) for name in COUNTS}
        return cls(
            options | {"rate": value_checks.decimal(given, "rate")},
            _names(message, "transports"),
            _names(message, "plugins"),
            _texts(message, "absent"),
            _texts(message, "brokers"),
        )

    def label(self, name: str) -> str:
        """Return the name of a transport or plugin in the spelling of the user."""
        return self.labels.get(name, name)


def _names(message: Mapping[str, Any], key: str) -> list[str]:
    found = value_checks.items(message, key, MOST_NAMES)
    return [value_checks.printable({key: each}, key, LONGEST_NAME) for each in found]


def _texts(message: Mapping[str, Any], key: str) -> dict[str, str]:
    found = value_checks.table(message, key)
    return {name: value_checks.printable(found, name) for name in found}


def _why_no_transport(name: str) -> str:
    known = every()
    if name not in known:
        return f"middleware {one_of(name, known)}"
    try:
        manifest_of(name)
    except HopmeterError as absent:
        return str(absent)
    return ""


def check_same(here: Side, there: Side) -> None:
    """Raise UsageError if the publisher and the listener differ in an option that SAME lists."""
    unlike = [
        f"--{name} {here.options[name]:g} here, {there.options[name]:g} there"
        for name in SAME
        if here.options[name] != there.options[name]
    ]
    if unlike:
        what = f"the two commands have different options: {'; '.join(unlike)}"
        raise UsageError("E-OPTIONS-DIFFER", what, "give both commands the same options")


@dataclass(frozen=True)
class Absence:
    """The reason why a pair of transport and plugin is not measured."""

    reason: str
    side: str = ""
    """The side that lacks a transport or plugin, or an empty string if the reason concerns both sides."""


def find_pairs(publisher: Side, listener: Side, one_machine: bool) -> dict[StudyCase, Absence | None]:
    """Return all combinations of the requested transports and plugins. The publisher's requests come first. Each
    combination maps to the reason why it cannot be measured, or to None if it can be measured."""
    transports = dict.fromkeys([*publisher.transports, *listener.transports])
    plugins = dict.fromkeys([*publisher.plugins, *listener.plugins])
    sides = {LISTENER: listener, PUBLISHER: publisher}
    return {(one, other): _absence(one, other, sides, one_machine) for one in transports for other in plugins}


def _absence(transport: str, plugin: str, sides: Mapping[str, Side], one_machine: bool) -> Absence | None:
    for name in (transport, plugin):
        for side, each in sides.items():
            if name in each.absent:
                return Absence(each.absent[name], side)
        if any(name not in (*each.transports, *each.plugins) for each in sides.values()):
            return Absence("requested on one side only")
    if not one_machine:
        try:
            away(manifest_of(transport)[0], {})
        except HopmeterError as stays:
            return Absence(str(stays))
    return None
