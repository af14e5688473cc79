"""Published values next to values measured under the same conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.report.studies.known import Published, Study, published_values, studies
from hopmeter.report.studies.row_values import row_value, why_unresolved, with_unit
from hopmeter.report.words import formatting

CONDITIONS = (
    "pattern",
    "placement",
    "wait",
    "work",
    "relays",
    "sinks",
    "pairs",
    "dispatch",
    "payload",
    "rate_hz",
    "codec",
)
"""A row must match all of these conditions that the study states."""
UNSTATED = {"sinks": 1, "pairs": 1, "work": "none", "codec": "none"}
"""The assumed values of conditions that a study does not state."""


@dataclass(frozen=True)
class StudyLine:
    """A published value for each machine of the study, and the corresponding values from the user's runs."""

    conditions: str
    what: str
    statistic: str
    published: dict[str, str]
    """The published values by hardware name."""
    here: list[list[tuple[str, str]]]
    """The matching values of each run, with their intervals and distinguishing conditions."""
    note: str

    @property
    def is_measured(self) -> bool:
        """Whether any of the user's runs measured the published value."""
        return any(self.here)


@dataclass(frozen=True)
class StudyTable:
    """The published values of a study, next to the values of the given runs."""

    study: Study
    hardware: list[str]
    lines: list[StudyLine]


def is_repeated(study: Study, runs: Sequence[Run]) -> bool:
    """Return whether a run uses a scenario that repeats the study, or has rows that match a published value."""
    if any(run.text("scenario_name") in study.scenarios for run in runs):
        return True
    return any(_belongs(each, runs) and _rows(each, _rows_of(runs)) for each in _of(study))


def tables(runs: Sequence[Run]) -> list[StudyTable]:
    """Return a table for each repeated study. A table contains the published values for the measured conditions, or all
    published values if no condition was measured."""
    found = []
    for study in studies().values():
        if is_repeated(study, runs):
            own = _of(study)
            found.append(_table(study, [each for each in own if _belongs(each, runs)] or own, runs))
    return found


def _of(study: Study) -> list[Published]:
    return [each for each in published_values() if each.study == study.name]


def _belongs(one: Published, runs: Iterable[Run]) -> bool:
    return one.column is not None and any(agree(one, row) for run in runs for row in run.measured_rows)


def agree(one: Published, row: Row) -> bool:
    """Return whether a row matches the conditions of a published value. The transport of the row is ignored."""
    for name in CONDITIONS:
        wanted = getattr(one, name)
        wanted = UNSTATED.get(name) if wanted is None else wanted
        if wanted is not None and row.get(name) != wanted:
            return False
    return one.column != "highest_rate_hz" or bool(row["search"])


def _rows_of(runs: Iterable[Run]) -> list[Row]:
    return [row for run in runs for row in run.measured_rows]


def _has_settings(one: Published, row: Row) -> bool:
    wanted = (each.partition("=") for each in (one.settings or "").split())
    return all(str(row.cell.carriage.settings.get(name)) == value for name, _, value in wanted)


def _rows(one: Published, rows: Iterable[Row]) -> list[Row]:
    alike = [row for row in rows if agree(one, row)]
    own = [row for row in alike if (row["transport"], row["language"]) == (one.transport, one.language)]
    return [row for row in own if _has_settings(one, row)]


CPU = {"cpu_percent_source": "source", "cpu_percent_sink": "sink", "cpu_percent_mean": "process"}
"""The role that each CPU column refers to. `process` stands for the only process of a cell."""


def published_cpu(row: Row) -> dict[str, str]:
    """Return the CPU use that studies published for the row's conditions, by role."""
    found: dict[str, list[str]] = {}
    for each in published_values():
        if each.column in CPU and each.value is not None and _rows(each, [row]):
            found.setdefault(CPU[each.column], []).append(f"{_published_text(each)} on {each.hardware}")
    return {role: "; ".join(formatting.distinct(texts)) for role, texts in found.items()}


def _table(study: Study, figures: Sequence[Published], runs: Sequence[Run]) -> StudyTable:
    alike: dict[tuple[object, ...], list[Published]] = {}
    for each in figures:
        alike.setdefault(tuple(getattr(each, name) for name in (*CONDITIONS, *SAME, "settings")), []).append(each)
    lines = [_line(group, runs) for group in alike.values()]
    places = {each: place for place, each in enumerate(formatting.distinct(line.conditions for line in lines))}
    lines.sort(key=lambda line: places.get(line.conditions, len(places)))
    return StudyTable(study, formatting.distinct(each.hardware for each in figures), lines)


SAME = ("transport", "language", "statistic", "column")


def _line(figures: Sequence[Published], runs: Sequence[Run]) -> StudyLine:
    first = figures[0]
    notes = formatting.distinct(each.note or "" for each in figures if each.value is not None)
    return StudyLine(
        conditions(first),
        f"{first.transport or ''} ({first.language})".strip(),
        first.statistic,
        {each.hardware: _published_text(each) for each in figures},
        [_here(first, run) for run in runs],
        "; ".join(notes),
    )


def _published_text(one: Published) -> str:
    if one.value is None:
        return one.note or formatting.NOTHING
    unit = {"us": "µs", "hz": "Hz"}.get(one.unit, one.unit)
    return f"{formatting.number(one.value)}{formatting.THIN}{unit}"


def _here(one: Published, run: Run) -> list[tuple[str, str]]:
    rows = _rows(one, run.measured_rows) if one.column else []
    several = {key for key in ("profile", "wait", "cores") if len({row[key] for row in rows}) > 1}
    if not one.column:
        return [(formatting.NOTHING, "no comparable value; see the claims")]
    return list(dict.fromkeys(_value_and_detail(row, str(one.column), several) for row in rows))


def _value_and_detail(row: Row, column: str, several: Iterable[str]) -> tuple[str, str]:
    found = row_value(row, column)
    value = (
        with_unit(found.value, column)
        if found
        else why_unresolved(row, column)
        if row["status"] == "ok"
        else str(row["status"])
    )
    between = formatting.interval(found.low, found.high) if found else ""
    return value, ", ".join(formatting.distinct([between, *(str(row.get(key) or "") for key in sorted(several))]))


def conditions(one: Published) -> str:
    """Format conditions as text, such as `pubsub, threads of one process, timing, 20 relays, 100 Hz`."""
    placement = {"thread": "one process", "process": "one process each"}.get(one.placement or "", "")
    return ", ".join(
        formatting.distinct(
            [
                one.pattern or "",
                placement,
                (one.payload or "").replace("bytes:", "bytes "),
                formatting.plural(one.relays, "relay") if one.relays else "",
                formatting.plural(one.sinks, "server") if one.sinks else "",
                (one.work or "").replace(":", " "),
                {"parallel": "at once", "sequential": "one after another"}.get(one.dispatch or "", ""),
                formatting.plural(one.pairs, "pair") if one.pairs else "",
                formatting.rate(one.rate_hz) if one.rate_hz else "",
                one.codec or "",
                *(one.settings or "").split(),
            ]
        )
    )
