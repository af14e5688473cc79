"""Comparable groups: rows that answer the same question under the same conditions, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hopmeter.images import parse_source
from hopmeter.model.cell import AXES, DEFAULTS
from hopmeter.model.paces import PACES, PaceName
from hopmeter.report import formatting, hosts
from hopmeter.report.source import Row, Run

CONDITIONS = (*AXES, "payload_bytes", "reply", "fifo", "mlock", "no_idle_states")
"""A figure is compared only with one that agrees in all of these: what a scenario varies, and what follows from it."""

QUIET = DEFAULTS | {"codec": "none", "sinks": 1, "relays": 0, "pace": "open"}
"""What goes without saying."""


@dataclass(frozen=True)
class Group:
    """Rows under the same conditions, fastest first."""

    conditions: dict[str, Any]
    rows: tuple[Row, ...]
    number: int = 0
    varied: tuple[str, ...] = ()
    """The conditions in which the report's groups differ from each other."""
    machine: str = ""
    """Where all its rows were measured; empty where the report knows one machine only."""

    @property
    def id(self) -> str:
        """The anchor of its section."""
        return f"group-{self.number}"

    @property
    def measured(self) -> list[Row]:
        """Rows with a latency that may be shown: also that of floors and of what is not ranked."""
        return [row for row in self.rows if row.ok]

    @property
    def ranked(self) -> list[Row]:
        """The candidates, fastest first."""
        return [row for row in self.measured if row.candidate]

    @property
    def broken(self) -> list[Row]:
        """Rows without a latency that counts."""
        return [row for row in self.rows if not row.ok]

    @cached_property
    def labels(self) -> dict[int, str]:
        """The shortest name of each row that no other row of the group has; by `id` of the row object."""
        return labels(self.rows)

    def label(self, row: Row) -> str:
        """The name of a row within its group."""
        return self.labels[id(row)]

    def named(self, rows: Iterable[Row]) -> dict[str, Row]:
        """Rows by their names."""
        return {self.label(row): row for row in rows}

    @property
    def title(self) -> str:
        """What sets this group apart: `64 B at 1 000 Hz, 20 relays`."""
        said = formatting.distinct(_said(key, self.conditions) for key in ("relays", "sinks", "pairs"))
        varied = formatting.distinct(_said(key, self.conditions) for key in self.varied if key not in SPOKEN)
        telling = [f"{_said('payload', self.conditions)} {_tempo(self.conditions)}", *said, *varied]
        return ", ".join([*telling, *filter(None, [self.machine])])

    def told(self, *except_for: str) -> list[str]:
        """All conditions but some, a word or two each."""
        aside = {*except_for, "payload_bytes", "rate_hz", "pace"}
        if "payload_bytes" in except_for:
            aside.add("payload")
        tempo = [] if "rate_hz" in except_for else [_tempo(self.conditions)]
        said = [_said(key, self.conditions) for key in CONDITIONS if key not in aside]
        return formatting.distinct([*said, *tempo, self.machine])

    @property
    def chips(self) -> list[str]:
        """The other conditions, a word or two each."""
        return formatting.distinct(
            _said(key, self.conditions) for key in CONDITIONS if key not in SPOKEN | set(self.varied)
        )


SPOKEN = {"payload", "payload_bytes", "rate_hz", "pace", "relays", "sinks", "pairs"}


def groups(runs: Sequence[Run]) -> list[Group]:
    """All rows of all runs that were measured, by their conditions and the machine."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    machines = hosts.names(runs)
    sizes = _sizes(row for run in runs for row in run.measured)
    for run in runs:
        for row in run.measured:
            known = {"payload_bytes": sizes.get(_object(row), row["payload_bytes"])}
            conditions = tuple(known.get(key, row[key]) for key in CONDITIONS)
            found.setdefault((*conditions, machines.get(id(run), "")), []).append(row)
    varied = tuple(key for place, key in enumerate(CONDITIONS) if len({key_[place] for key_ in found}) > 1)
    ordered = sorted(found.items(), key=_rank)
    return [
        Group(dict(zip(CONDITIONS, key, strict=False)), tuple(sorted(rows, key=_place)), number, varied, key[-1])
        for number, (key, rows) in enumerate(ordered, 1)
    ]


def _sizes(rows: Iterable[Row]) -> dict[tuple[Any, ...], int]:
    """The most bytes that each object takes: with another version of its library it may take a few less."""
    sizes: dict[tuple[Any, ...], int] = {}
    for row in rows:
        if row["codec"] != QUIET["codec"]:
            sizes[_object(row)] = max(sizes.get(_object(row), 0), row["payload_bytes"] or 0)
    return sizes


def _object(row: Row) -> tuple[Any, ...]:
    return tuple(row[key] for key in CONDITIONS if key != "payload_bytes")


FIRST = ("payload_bytes", "rate_hz", "relays", "sinks", "pairs")
"""Small messages, low rates and short work come first, whatever else differs."""


def _rank(item: tuple[tuple[Any, ...], list[Row]]) -> list[tuple[int, float, str]]:
    conditions = dict(zip(CONDITIONS, item[0], strict=False))
    work_s = item[1][0].cell.axes.ideal_s or 0.0
    return [_order(value) for value in (*(conditions[key] for key in FIRST), work_s, *item[0])]


def _order(value: Any) -> tuple[int, float, str]:
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value))


def _place(row: Row) -> tuple[bool, bool, bool, float]:
    return not row.ok, row.p50 is None, not row.candidate, row.p50 or 0.0


def _said(key: str, conditions: dict[str, Any]) -> str:
    """One condition in words; empty where it goes without saying."""
    value = conditions[key]
    if value is None or QUIET.get(key) == value:
        return ""
    said = _SAYINGS.get(key)
    return said(value, conditions) if said else f"{key} {value}"


def _worded(setting: Any) -> str:
    return str(setting).lower() if isinstance(setting, bool) else str(setting)


def _payload(value: Any, conditions: dict[str, Any]) -> str:
    size = formatting.payload_bytes(conditions["payload_bytes"] or 0)
    kind, _, shape = str(value).partition(":")
    shape = shape if kind == "file" or parse_source(str(value)) else shape.replace("x", "×")
    named = {"bytes": "", "timing": "timing message"}.get(kind, " ".join(formatting.distinct([kind, shape])))
    return ", ".join(formatting.distinct([named, size if conditions["payload_bytes"] or not named else ""]))


def _cores(value: Any, _: dict[str, Any]) -> str:
    return {
        "same": "one core",
        "cross": "across cores",
        "sibling": "sibling threads of one core",
        "free": "not pinned",
    }.get(str(value), f"cores {value}")


_SAYINGS: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "pattern": lambda value, _: str(value),
    "placement": lambda value, _: {"thread": "threads of one process", "process": "a process each"}.get(
        value, str(value)
    ),
    "wait": lambda value, _: f"wait {value}",
    "cores": _cores,
    "payload": _payload,
    "touch": lambda value, _: f"touch {value}",
    "relays": lambda value, _: formatting.plural(value, "relay"),
    "sinks": lambda value, conditions: formatting.plural(
        value, "server" if conditions["pattern"] == "scatter" else "sink"
    ),
    "dispatch": lambda *_: "asked one after the other",
    "pairs": lambda value, _: formatting.plural(value, "pair"),
    "heap": lambda *_: "freed memory left to the C library",
    "fifo": lambda value, _: f"SCHED_FIFO {value}",
    "mlock": lambda *_: "memory locked",
    "no_idle_states": lambda *_: "no idle states",
}


def _tempo(conditions: dict[str, Any]) -> str:
    name: PaceName = conditions["pace"] or "open"
    return PACES[name].described(name, formatting.rate(conditions["rate_hz"]))


def families(groups: Iterable[Group], aside: Iterable[str]) -> list[list[Group]]:
    """Groups that agree in all conditions but these, on the same machine."""
    found: dict[tuple[Any, ...], list[Group]] = {}
    alike = [key for key in CONDITIONS if key not in set(aside)]
    for group in groups:
        found.setdefault((*(group.conditions[key] for key in alike), group.machine), []).append(group)
    return list(found.values())


def labels(rows: Sequence[Row], apart: Sequence[str] = ()) -> dict[int, str]:
    """The transport, and whatever else differs between the rows, by `id` of the row object.

    Rows that differ in the columns `apart` may have the same name.
    """
    said = {id(row): {part: str(row[part] or "") for part in ("transport", "language", "cell")} for row in rows}
    for row in rows:
        said[id(row)] |= {"profile": profile(row, rows), "run": row.run.name}
    differing = [part for part in ("language", "profile", "run") if len({each[part] for each in said.values()}) > 1]
    names = {key: _name(each, ["transport", *differing]) for key, each in said.items()}
    if len({(names[id(row)], *(row[key] for key in apart)) for row in rows}) < len(rows):
        names = {key: _name(each, ["transport", *differing, "cell"]) for key, each in said.items()}
    return names


def _name(said: Mapping[str, str], parts: Sequence[str]) -> str:
    return " ".join(formatting.distinct(said[part] for part in parts))


def profile(row: Row, among: Iterable[Row]) -> str:
    """The settings of a row that are not the defaults of its transport.

    Of a row that has none, where rows of its transport vary one setting: that one; where they vary several: `defaults`.
    """
    if row["profile"]:
        return str(row["profile"])
    alike = [str(other["profile"] or "") for other in among if other["transport"] == row["transport"]]
    varied = {each.partition("=")[0] for text in alike for each in text.split()}
    known = [
        f"{name}={_worded(row.cell.carriage.settings[name])}" for name in varied if name in row.cell.carriage.settings
    ]
    return known[0] if len(varied) == len(known) == 1 else "defaults" if varied else ""
