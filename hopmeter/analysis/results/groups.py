"""Group rows that were measured under the same conditions and are therefore comparable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hopmeter.analysis.results import machine_names
from hopmeter.analysis.results.builds import build_words, qualifiers
from hopmeter.model.cell import CONDITIONS as CONDITIONS
from hopmeter.model.cell import DEFAULTS, table_key
from hopmeter.plan.workloads.workload_cells import part_place
from hopmeter.system import humanize

if TYPE_CHECKING:
    from hopmeter.analysis.results.run_results import Row, Run

USUAL = DEFAULTS
"""The default values of conditions, which reports do not mention."""
FIRST = ("payload_bytes", "rate_hz", "relays", "sinks", "pairs")
"""The conditions by which groups are sorted first, with small payloads and low rates at the top."""


@dataclass(frozen=True)
class Group:
    """Rows that were measured under the same conditions, fastest first."""

    conditions: dict[str, Any]
    rows: tuple[Row, ...]
    number: int = 0
    varied: tuple[str, ...] = ()
    """The conditions that differ between the groups of a report."""
    machine: str = ""
    """The machine that measured the rows, or an empty string if all groups are from one machine."""

    @property
    def id(self) -> str:
        """The HTML anchor of the group's section in the report."""
        return f"group-{self.number}"

    @property
    def measured_rows(self) -> list[Row]:
        """The rows with a valid latency, including floors and unranked rows."""
        return [row for row in self.rows if row.ok]

    @property
    def candidates(self) -> list[Row]:
        """The measured rows, fastest first. The candidates include references, but neither floors nor unranked rows."""
        return [row for row in self.measured_rows if row.candidate]

    @property
    def ranked_rows(self) -> list[Row]:
        """The measured choices, fastest first."""
        chosen = set(map(id, self.choices))
        return [row for row in self.candidates if id(row) in chosen]

    @property
    def choices(self) -> list[Row]:
        """The ranked rows, including failed ones, or all rows if no row is ranked."""
        from hopmeter.analysis.ranking.ranked_cells import (
            choices,  # this module imports NumPy, which plans do not need
        )

        chosen = {id(cell) for cell in choices(row.cell for row in self.rows)}
        return [row for row in self.rows if id(row.cell) in chosen] or list(self.rows)

    @property
    def has_only_references(self) -> bool:
        """Whether the group contains no library that a user can install."""
        return not any(row.recommendable for row in self.rows)

    @property
    def references(self) -> list[Row]:
        """The rows that are not choices: floors, and transports that are not libraries."""
        chosen = set(map(id, self.choices))
        return [row for row in self.rows if id(row) not in chosen]

    @property
    def measures_moments(self) -> bool:
        """Whether each trial measured a single time: the time of its first message, or its recovery. Such a time has no
        floor, no share of lost messages and no CPU per message."""
        return any(row.cell.axes.measures_moments for row in self.rows)

    @property
    def has_sides(self) -> bool:
        """Whether the rows are the two sides of a comparison instead of ranked cells."""
        return any(row.cell.comparison.side for row in self.rows)

    @cached_property
    def labels(self) -> dict[int, str]:
        """The shortest name that identifies each row within the group, keyed by the row's `id()`."""
        return labels(self.rows)

    def label(self, row: Row) -> str:
        """Return the name of a row within its group."""
        return self.labels[id(row)]

    def short_label(self, row: Row) -> str:
        """Return the row's transport, followed by its build if the rows have different builds. If the short label is
        not unique, return the full label."""
        label, transport = self.label(row), str(row["transport"])
        alone = sum(other["transport"] == transport for other in self.rows) == 1
        if not alone or not label.startswith(transport):
            return label
        return " ".join(filter(None, (transport, self.qualifiers[id(row)])))

    @cached_property
    def qualifiers(self) -> dict[int, str]:
        """The build of each row, keyed by the row's `id()`, if the builds differ."""
        return qualifiers(self.rows)

    def rows_by_name(self, rows: Iterable[Row]) -> dict[str, Row]:
        """Return the rows by label."""
        return {self.label(row): row for row in rows}


def groups(runs: Sequence[Run]) -> list[Group]:
    """Return all measured rows of all runs, grouped by conditions and machine. Repeated searches have tables of their
    own."""
    tables: dict[tuple[Any, ...], list[Row]] = {}
    machines = machine_names.names(runs)
    for run in runs:
        for row in run.measured_rows:
            if row.cell.comparison.search_round is not None:
                continue
            tables.setdefault((table_key(row), machines.get(id(run), "")), []).append(row)
    found = {(*_conditions(rows), machine): rows for (_, machine), rows in tables.items()}
    varied = tuple(key for place, key in enumerate(CONDITIONS) if len({key_[place] for key_ in found}) > 1)
    ordered = sorted(found.items(), key=_rank)
    return [
        Group(dict(zip(CONDITIONS, key, strict=False)), tuple(sorted(rows, key=_row_rank)), number, varied, key[-1])
        for number, (key, rows) in enumerate(ordered, 1)
    ]


def _conditions(rows: Sequence[Row]) -> tuple[Any, ...]:
    """Return the conditions under which the rows of a table were measured. If the rows have different payload sizes,
    the conditions contain the largest size."""
    largest = max(row["payload_bytes"] or 0 for row in rows)
    return tuple(largest if key == "payload_bytes" else rows[0].get(key) for key in CONDITIONS)


def _rank(item: tuple[tuple[Any, ...], list[Row]]) -> list[tuple[int, float, str]]:
    """Return the sort key of a group, which mainly depends on its payload size. A workload is sorted before its flows,
    and the flows before the paths."""
    conditions = dict(zip(CONDITIONS, item[0], strict=False))
    place = part_place(item[1][0].cell)
    work_s = item[1][0].cell.axes.ideal_s or 0.0
    # The table with idle states disabled comes first, because its rounds determine the ranking.
    values = (not value if key == "no_idle_states" else value for key, value in zip(CONDITIONS, item[0], strict=False))
    return [_order(value) for value in (*place, *(conditions[key] for key in FIRST), work_s, *values, item[0][-1])]


def _order(value: Any) -> tuple[int, float, str]:
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value))


def _row_rank(row: Row) -> tuple[bool, bool, bool, tuple[float, ...]]:
    if row.cell.is_whole_workload:
        return row["status"] != "ok", row["rank_low"] is None, not row.candidate, row.criteria
    return not row.ok, row.p50 is None, not row.candidate, (row.p50 or 0.0,)


def families(groups: Iterable[Group], free: Iterable[str]) -> list[list[Group]]:
    """Combine groups that have the same machine and the same conditions; only the conditions named in `free` may
    differ."""
    found: dict[tuple[Any, ...], list[Group]] = {}
    alike = [key for key in CONDITIONS if key not in set(free)]
    for group in groups:
        found.setdefault((*(group.conditions[key] for key in alike), group.machine), []).append(group)
    return list(found.values())


def labels(rows: Sequence[Row], columns: Sequence[str] = ()) -> dict[int, str]:
    """Return a label for each row, keyed by the row's `id()`. A label consists of the transport and every other
    property in which the rows differ.

    Two rows may have the same label if they differ in one of the columns in `columns`.
    """
    parts = {id(row): {part: str(row[part] or "") for part in ("transport", "side", "cell")} for row in rows}
    for row in rows:
        alongside = f"alongside {row['alongside']}" if row["alongside"] else ""
        parts[id(row)] |= {"profile": profile(row, rows), "alongside": alongside, "run": row.run.name}
    for key, text in qualifiers(rows).items():
        parts[key]["build"] = text
    optional = ("build", "profile", "alongside", "side", "run")
    differing = [part for part in optional if len({each[part] for each in parts.values()}) > 1]
    names = {key: _name(each, ["transport", *differing]) for key, each in parts.items()}
    if len({(names[id(row)], *(row.get(key) for key in columns)) for row in rows}) < len(rows):
        names = {key: _name(each, ["transport", *differing, "cell"]) for key, each in parts.items()}
    return names


def _name(parts: Mapping[str, str], wanted: Sequence[str]) -> str:
    return " ".join(filter(None, dict.fromkeys(parts[part] for part in wanted)))


def name_in_table(row: Row, rows: Iterable[Row]) -> str:
    """Return a row's label for a table with a separate language column."""
    every = list(rows)
    alongside = f"alongside {row['alongside']}" if row["alongside"] else ""
    words = [str(row["transport"]), *build_words(row, every), profile(row, every), alongside, str(row["side"] or "")]
    return " ".join(filter(None, dict.fromkeys(words)))


def profile(row: Row, rows: Iterable[Row]) -> str:
    """Return those settings of a row that differ from the defaults of the row's transport. If the library reports a
    version for a value, the version follows the value: `rmw=rmw_zenoh_cpp 0.6.1`.

    If a row has only default settings, its profile depends on the settings that vary among the `rows` of its transport.
    If one setting varies, the profile is the default value of this setting; if several settings vary, the profile is
    the word `defaults`.
    """
    if row["profile"]:
        version = str(row["library_version"] or "")
        return " ".join(_with_version(word, version) for word in str(row["profile"]).split())
    alike = [str(other["profile"] or "") for other in rows if other["transport"] == row["transport"]]
    varied = {each.partition("=")[0] for text in alike for each in text.split()}
    settings = row.cell.carriage.settings
    known = [f"{name}={humanize.setting(settings[name])}" for name in varied if name in settings]
    return known[0] if len(varied) == len(known) == 1 else "defaults" if varied else ""


def _with_version(word: str, library_version: str) -> str:
    """Return `name=value`, followed by the version that the library reports for this value."""
    value = word.partition("=")[2]
    found = (
        re.search(rf"(?<!\S){re.escape(value)} (\d+(?:\.\d+)+)", library_version.replace("(", " ")) if value else None
    )
    return f"{word} {found[1]}" if found else word
