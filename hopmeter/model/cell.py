"""Define a cell, which is one fully specified configuration. `cells.parquet` contains one row with the results of each
cell."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from hashlib import blake2b
from typing import Any, Protocol

from hopmeter.model.cell_parts import Axes, Carriage, Comparison, NodeSettings, Schedule
from hopmeter.model.conditions import CONDITIONS as CONDITIONS_OF_SCENARIOS
from hopmeter.model.workload import MESSAGE, NO_CODEC, Carrier, Flow, Workload

WHOLE = "the whole workload"


@dataclass(frozen=True)
class Cell:
    """A fully specified configuration, which is stored in `run.json` and repeated in `cells.parquet`."""

    id: str
    axes: Axes
    carriage: Carriage
    schedule: Schedule = field(default_factory=Schedule)
    nodes: NodeSettings = field(default_factory=NodeSettings)
    comparison: Comparison = field(default_factory=Comparison)
    dropped: str = ""
    """The reason why this cell is not measured, or an empty string if it is measured."""
    workload: Workload | None = None
    """The participants, flows and paths of a workload, or None for an ordinary cell."""
    flow: str = ""
    """The flow that this row belongs to, or an empty string for an ordinary cell and for a whole workload."""
    path: str = ""
    """The path that this row belongs to, or an empty string for any other row."""

    def __getitem__(self, name: str) -> Any:
        """Return the value of a column, such as `cell["pattern"]`. Raises KeyError if no column has this name."""
        for part in (self, self.axes, self.carriage, self.schedule, self.nodes, self.comparison):
            if name not in GROUPS and hasattr(part, name):
                return getattr(part, name)
        raise KeyError(name)

    @property
    def group(self) -> str:
        """Return the id of the table in which this cell is ranked. The id is the same in every run."""
        *ordinary, background, hosts = (value for name, value in table_items(self) if name not in LATER)
        key = tuple(ordinary if self.workload else ordinary[: -len(OF_WORKLOAD)])
        # Conditions that later versions added are included in the id only if they apply, so that existing ids do not
        # change.
        more = (background, hosts) if hosts else (background,) if background else ()
        return blake2b(repr((*key, *more, *_later(self.axes))).encode(), digest_size=4).hexdigest()

    @property
    def is_whole_workload(self) -> bool:
        """Return whether this row represents a whole workload instead of one of its flows or paths."""
        return self.workload is not None and not self.flow and not self.path

    @property
    def part(self) -> str:
        """Return the name of the row's flow or path, `WHOLE` for a whole workload, or an empty string for an ordinary
        cell."""
        return WHOLE if self.is_whole_workload else self.flow or self.path

    @property
    def host_list(self) -> tuple[str, ...]:
        """Return the hosts of an ordinary cell's endpoints, or an empty tuple for a workload or a run without hosts."""
        return tuple(self.nodes.hosts.split(">")) if self.nodes.hosts and self.workload is None else ()

    @property
    def deadline_s(self) -> float | None:
        """Return the deadline of the row's flow or path, or None if the row has no deadline."""
        if self.workload is None or not (self.flow or self.path):
            return None
        part = self.workload.flow(self.flow) if self.flow else self.workload.path(self.path)
        return part.deadline_s

    @property
    def has_deadline(self) -> bool:
        """Return whether the messages of this row have a deadline. For a whole workload, return whether any flow or
        path has a deadline."""
        if self.workload is None or not self.is_whole_workload:
            return self.deadline_s is not None
        deadlines = [each.deadline_s for part in (self.workload.flows, self.workload.paths) for each in part]
        return any(each is not None for each in deadlines)

    @property
    def largest_payload_bytes(self) -> int:
        """Return the size of the largest payload in bytes."""
        if self.workload is None or not (self.flow or self.path):
            return self.carriage.payload_bytes
        return self.workload.flow(self.flow or self.workload.path(self.path).flows[0]).payload_bytes

    @property
    def graph(self) -> str:
        """Return an id of the workload's graph, which consists of the participants, the flows and the paths. The id is
        empty for an ordinary cell."""
        if self.workload is None:
            return ""
        programs = tuple(replace(each, language="", transports=()) for each in self.workload.participants)
        flows = tuple(_without_facts(each) for each in self.workload.flows)
        graph = repr(replace(self.workload, participants=programs, flows=flows, bridges=()))
        later = tuple((flow.name, *_later(flow)) for flow in flows if _later(flow))
        return blake2b((f"{graph}{later}" if later else graph).encode(), digest_size=4).hexdigest()

    @property
    def has_codec(self) -> bool:
        """Return whether the cell, or any flow of its workload, carries objects that a codec encodes."""
        if self.workload is None:
            return self.axes.codec != NO_CODEC
        return any(flow.has_codec for flow in self.workload.flows)

    @property
    def has_object(self) -> bool:
        """Return whether the cell, or any flow of its workload, carries objects that a codec or the transport
        encodes."""
        if self.workload is None:
            return self.has_codec or self.axes.payload.startswith(MESSAGE)
        return any(flow.has_object for flow in self.workload.flows)

    @property
    def call_s(self) -> float:
        """Return how many seconds a client waits for a reply before the reply counts as missing."""
        return self.schedule.patience_s + (self.axes.ideal_s or 0.0)

    def get(self, name: str) -> Any:
        """Return the value of a column, or None if no column has this name."""
        try:
            return self[name]
        except KeyError:
            return None

    def with_values(self, **values: Any) -> Cell:
        """Return a copy of this cell in which the given columns have new values."""
        own = {name: values.pop(name) for name in OWN if name in values}
        parts = {name: _part(getattr(self, name), values) for name in GROUPS}
        if values:
            raise TypeError(f"a cell has no {', '.join(values)}")
        return replace(self, **own, **parts)

    @classmethod
    def of(cls, **values: Any) -> Cell:
        """Create a cell from a dictionary of values, keyed by column name."""
        own = {name: values.pop(name) for name in OWN if name in values}
        parts = {name: kind(**_pick(kind, values)) for name, kind in GROUPS.items()}
        if values:
            raise TypeError(f"a cell has no {', '.join(values)}")
        return cls(**own, **parts)

    def flat(self) -> dict[str, Any]:
        """Return the values of all columns in a dictionary, keyed by column name."""
        parts = [asdict(getattr(self, name)) for name in GROUPS]
        return (
            {"id": self.id}
            | {name: value for part in parts for name, value in part.items()}
            | {"dropped": self.dropped, "flow": self.flow, "path": self.path}
        )

    def as_json(self) -> dict[str, Any]:
        """Return the cell as a JSON object for `run.json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Cell:
        """Create a cell from a JSON object in `run.json` that `as_json` created."""
        parts = {name: kind(**row[name]) for name, kind in GROUPS.items()}
        workload = Workload.from_json(row["workload"]) if row.get("workload") else None
        made = cls(**{**row, **parts, "workload": workload})
        return made.with_values(core_list=tuple(made.nodes.core_list))


OWN = ("id", "dropped", "workload", "flow", "path")
"""The fields of a cell that do not belong to one of its groups of fields."""
GROUPS: dict[str, type[Any]] = {
    "axes": Axes,
    "carriage": Carriage,
    "schedule": Schedule,
    "nodes": NodeSettings,
    "comparison": Comparison,
}
AXES = tuple(each.name for each in CONDITIONS_OF_SCENARIOS if each.separates_tables)
"""The fields for which a scenario may give several values, except transport, language and settings."""
LATER = {each.name: each.default for each in CONDITIONS_OF_SCENARIOS if not each.in_first_ids}
"""The conditions that the first version of table ids did not include, with their default values."""
DEFAULTS = dict.fromkeys(("flow", "path", "graph"), "") | {
    each.name: each.default for kind in GROUPS.values() for each in fields(kind) if each.default is not MISSING
}
"""The default values of a cell's fields."""
OF_WORKLOAD = ("flow", "path", "graph")
"""The conditions that are empty in an ordinary cell."""
CONDITIONS = (*AXES, "payload_bytes", "reply", "fifo", "mlock", "no_idle_states", *OF_WORKLOAD, "background", "hosts")
"""The fields in which two cells must agree to be comparable: the scenario's conditions, and fields derived from
them."""


class Columns(Protocol):
    """An object with a value for each column of a cell: the cell itself, or the row with the results of the cell."""

    def get(self, name: str, /) -> Any:
        """Return the value of a column."""


def table_key(cell: Columns) -> tuple[Any, ...]:
    """Return the values of the conditions that all cells in one table have in common, in the order of `CONDITIONS`.

    If a codec encodes the payload, its size is replaced with None, because the size may differ slightly between
    versions of the codec's library.
    """
    return tuple(value for _, value in table_items(cell))


def table_items(cell: Columns) -> list[tuple[str, Any]]:
    """Return the names and values of the conditions of which `table_key` returns the values."""
    fixed_size = cell.get("codec") == "none"
    return [(name, None if name == "payload_bytes" and not fixed_size else cell.get(name)) for name in CONDITIONS]


def _later(planned: object) -> tuple[tuple[str, Any], ...]:
    """Return the names and values of those conditions in `LATER` that do not have their default values."""
    values = ((name, getattr(planned, name, default), default) for name, default in LATER.items())
    return tuple((name, value) for name, value, default in values if value != default)


def _without_facts(flow: Flow) -> Flow:
    """Return a flow reduced to the values that the scenario gives, because these are the same in every version of
    hopmeter.

    The size of an encoded object and the transport's properties are left out.
    """
    size = 0 if flow.has_codec else flow.payload_bytes
    own = flow.carrier and Carrier(flow.carrier.transport, flow.carrier.profile)
    return replace(flow, payload_bytes=size, carrier=own)


def _pick(kind: type[Any], values: dict[str, Any]) -> dict[str, Any]:
    """Remove the fields of the dataclass `kind` from `values`, and return the removed fields with their values."""
    return {each.name: values.pop(each.name) for each in fields(kind) if each.name in values}


def _part(part: Any, values: dict[str, Any]) -> Any:
    chosen = _pick(type(part), values)
    return replace(part, **chosen) if chosen else part
