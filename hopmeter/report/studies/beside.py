"""Published figures beside the measured ones that were taken under the same conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hopmeter.report import formatting
from hopmeter.report.source import Row, Run
from hopmeter.report.studies.known import Published, Study, published, studies
from hopmeter.report.studies.values import measured, said

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
"""A published figure belongs beside rows that agree in all of these that its study states."""
UNSTATED = {"sinks": 1, "pairs": 1, "work": "none", "codec": "none"}
"""What a study means that does not say."""


@dataclass(frozen=True)
class Line:
    """A figure of a study on each of its machines, and what was measured here."""

    conditions: str
    what: str
    statistic: str
    published: dict[str, str]
    """By hardware."""
    here: list[list[tuple[str, str]]]
    """For each run what its rows have, and the interval and what tells the row apart; empty where it has none."""
    note: str

    @property
    def is_measured(self) -> bool:
        """Whether any run has it too."""
        return any(self.here)


@dataclass(frozen=True)
class Table:
    """A study's figures that belong to some runs."""

    study: Study
    hardware: list[str]
    lines: list[Line]


def is_repeated(study: Study, runs: Sequence[Run]) -> bool:
    """Whether a run is of a scenario that repeats the study, or took rows under its conditions."""
    if any(run.text("scenario_name") in study.scenarios for run in runs):
        return True
    return any(_belongs(each, runs) and _rows(each, _measured(runs)) for each in _of(study))


def tables(runs: Sequence[Run]) -> list[Table]:
    """The figures whose conditions were measured; all of a study that is repeated where none was."""
    found = []
    for study in studies().values():
        if is_repeated(study, runs):
            own = _of(study)
            found.append(_table(study, [each for each in own if _belongs(each, runs)] or own, runs))
    return found


def _of(study: Study) -> list[Published]:
    return [each for each in published() if each.study == study.name]


def _belongs(figure: Published, runs: Iterable[Run]) -> bool:
    return figure.column is not None and any(agree(figure, row) for run in runs for row in run.measured)


def agree(figure: Published, row: Row) -> bool:
    """Whether a row was taken under the conditions of a figure, whatever its transport."""
    for name in CONDITIONS:
        asked = getattr(figure, name)
        asked = UNSTATED.get(name) if asked is None else asked
        if asked is not None and row[name] != asked:
            return False
    return figure.column != "highest_rate_hz" or bool(row["search"])


def _measured(runs: Iterable[Run]) -> list[Row]:
    return [row for run in runs for row in run.measured]


def _is_set_alike(figure: Published, row: Row) -> bool:
    wanted = (each.partition("=") for each in (figure.settings or "").split())
    return all(str(row.cell.carriage.settings.get(name)) == value for name, _, value in wanted)


def _rows(figure: Published, rows: Iterable[Row]) -> list[Row]:
    alike = [row for row in rows if agree(figure, row)]
    own = [row for row in alike if (row["transport"], row["language"]) == (figure.transport, figure.language)]
    return [row for row in own if _is_set_alike(figure, row)]


CPU = {"cpu_percent_source": "source", "cpu_percent_sink": "sink", "cpu_percent_mean": "process"}
"""Whose CPU a column is: that of a role, or of the one process there is."""


def published_cpu(row: Row) -> dict[str, str]:
    """What studies say of the CPU of a row's processes under its conditions, by role."""
    found: dict[str, list[str]] = {}
    for each in published():
        if each.column in CPU and each.value is not None and _rows(each, [row]):
            found.setdefault(CPU[each.column], []).append(f"{_said(each)} on {each.hardware}")
    return {role: "; ".join(formatting.distinct(told)) for role, told in found.items()}


def _table(study: Study, figures: Sequence[Published], runs: Sequence[Run]) -> Table:
    alike: dict[tuple[object, ...], list[Published]] = {}
    for each in figures:
        alike.setdefault(tuple(getattr(each, name) for name in (*CONDITIONS, *SAME, "settings")), []).append(each)
    lines = [_line(group, runs) for group in alike.values()]
    places = {each: place for place, each in enumerate(formatting.distinct(line.conditions for line in lines))}
    lines.sort(key=lambda line: places.get(line.conditions, len(places)))
    return Table(study, formatting.distinct(each.hardware for each in figures), lines)


SAME = ("transport", "language", "statistic", "column")


def _line(figures: Sequence[Published], runs: Sequence[Run]) -> Line:
    first = figures[0]
    notes = formatting.distinct(each.note or "" for each in figures if each.value is not None)
    return Line(
        conditions(first),
        f"{first.transport or ''} ({first.language})".strip(),
        first.statistic,
        {each.hardware: _said(each) for each in figures},
        [_here(first, run) for run in runs],
        "; ".join(notes),
    )


def _said(figure: Published) -> str:
    if figure.value is None:
        return figure.note or formatting.NOTHING
    unit = {"us": "µs", "hz": "Hz"}.get(figure.unit, figure.unit)
    return f"{formatting.number(figure.value)}{formatting.THIN}{unit}"


def _here(figure: Published, run: Run) -> list[tuple[str, str]]:
    rows = _rows(figure, run.measured) if figure.column else []
    several = {key for key in ("profile", "wait", "cores") if len({row[key] for row in rows}) > 1}
    if not figure.column:
        return [(formatting.NOTHING, "no number to stand beside: see the claims")]
    return list(dict.fromkeys(_told(row, str(figure.column), several) for row in rows))


def _told(row: Row, column: str, several: Iterable[str]) -> tuple[str, str]:
    found = measured(row, column)
    value = said(found.value, column) if found else "not resolved" if row["status"] == "ok" else str(row["status"])
    between = formatting.interval(found.low, found.high) if found else ""
    return value, ", ".join(formatting.distinct([between, *(str(row[key] or "") for key in sorted(several))]))


def conditions(figure: Published) -> str:
    """`pubsub, threads of one process, timing, 20 relays, 100 Hz`."""
    place = {"thread": "one process", "process": "a process each"}.get(figure.placement or "", "")
    return ", ".join(
        formatting.distinct(
            [
                figure.pattern or "",
                place,
                (figure.payload or "").replace("bytes:", "bytes "),
                formatting.plural(figure.relays, "relay") if figure.relays else "",
                formatting.plural(figure.sinks, "server") if figure.sinks else "",
                (figure.work or "").replace(":", " "),
                {"parallel": "at once", "sequential": "one after the other"}.get(figure.dispatch or "", ""),
                formatting.plural(figure.pairs, "pair") if figure.pairs else "",
                formatting.rate(figure.rate_hz) if figure.rate_hz else "",
                figure.codec or "",
                *(figure.settings or "").split(),
            ]
        )
    )
