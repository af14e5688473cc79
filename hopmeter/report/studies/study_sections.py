"""Section on studies: each claim with its verdict, and published values next to measured values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from hopmeter.analysis.results import machine_names
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.sections.section import Section
from hopmeter.report.studies.judging import Answer, Verdict, judge
from hopmeter.report.studies.known import Claim, Study, claims
from hopmeter.report.studies.study_values import StudyLine, StudyTable, tables
from hopmeter.report.tables.model import Column, Line, Table, Value, notes, table
from hopmeter.report.words import formatting

Judged = list[tuple[Claim, Verdict]]
CLAIM_COLUMNS = (
    Column("Claim of the study", heads=True),
    Column("Here", "verdict"),
    Column("Deciding values", "which"),
)
CLAIM_CAPTION = (
    "A claim holds if the 95 % intervals confirm every comparison. A claim does not hold if the intervals contradict "
    "at least one comparison."
)
VALUE_CAPTION = (
    "Published values and, in bold, the values measured here under the same conditions. The hardware differs, so "
    "compare the order of the values, not the values themselves."
)
ANSWERS: dict[Answer, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "does not hold": ("does not hold", "do not hold"),
    "not resolved": ("not resolved", "not resolved"),
    "not measured": ("not measured", "not measured"),
}


def sections(runs: Sequence[Run]) -> list[Section]:
    """Return a list with the section on studies, or an empty list if the given runs repeat no part of a study."""
    parts = [study_section(each, runs) for each in tables(runs)]
    return [Section("", parts=parts, id="studies")] if parts else []


def study_section(values: StudyTable, runs: Sequence[Run]) -> Section:
    """Return the section of one study. The section is collapsed if the runs measured none of the study's conditions."""
    judged = [(claim, judge(claim, runs)) for claim in claims() if claim.study == values.study.name]
    judged.sort(key=lambda each: each[1].answer == "not measured")
    is_measured = any(line.is_measured for line in values.lines) or any(
        verdict.answer != "not measured" for _, verdict in judged
    )
    none = "" if is_measured else "Nothing was measured under the conditions of this study."
    return Section(
        f"Comparison with the study “{values.study.title}”",
        sentences=[" ".join(notes(f"From {values.study.source}.", summary(judged), none))],
        tables=[*([_claims(values.study, judged)] if judged else []), _values(values, _columns(runs))],
        style="study",
        fold="open" if is_measured else "closed",
    )


def summary(judged: Judged) -> str:
    """Return a summary such as `Of 8 claims: 2 hold, 1 not resolved, 5 not measured.`."""
    counts = Counter(verdict.answer for _, verdict in judged)
    words = [f"{counts[each]} {ANSWERS[each][counts[each] > 1]}" for each in ANSWERS if counts[each]]
    return f"Of {formatting.plural(len(judged), 'claim')}: {', '.join(words)}." if words else ""


def _columns(runs: Sequence[Run]) -> list[str]:
    """For each run, return the title of the column that shows the run's measured values."""
    named = machine_names.names(runs)
    if len(runs) == 1:
        return [f"here: {runs[0].part('machine').get('cpu_model') or 'unknown processor'}"]
    return [f"{named.get(id(run)) or 'here'}, {run.name}" for run in runs]


def _claims(study: Study, judged: Judged) -> Table:
    lines = []
    for claim, verdict in judged:
        source = "From the study's figures. " if claim.said == "figures" else ""
        values = [
            Value(claim.text, (f"{source}Test: {claim.reading}.",)),
            Value(verdict.answer),
            Value(verdict.numbers or formatting.NOTHING),
        ]
        lines.append(Line(values, verdict.answer.replace(" ", "-")))
    return table(f"claims of {study.title}", CLAIM_COLUMNS, lines, CLAIM_CAPTION, "plain claims")


def _values(values: StudyTable, here: Sequence[str]) -> Table:
    hardware = [Column(name, "number") for name in values.hardware]
    columns = [Column("Conditions"), Column("Value", heads=True), *hardware, *(Column(name, "here") for name in here)]
    explained = [f"{name}: {values.study.hardware[name]}." for name in values.hardware]
    previous = ["", *(line.conditions for line in values.lines)]
    lines = [_line(line, values, before) for line, before in zip(values.lines, previous, strict=False)]
    caption = " ".join([VALUE_CAPTION, *explained])
    return table(f"values of {values.study.title}", columns, lines, caption, "plain published")


def _line(line: StudyLine, values: StudyTable, previous: str) -> Line:
    what = Value(line.what, ("; ".join(notes(line.statistic, line.note)),))
    published = [Value(line.published.get(name, "")) for name in values.hardware]
    conditions = Value("" if line.conditions == previous else line.conditions)
    return Line([conditions, what, *published, *map(_here, line.here)])


def _here(measured: Sequence[tuple[str, str]]) -> Value:
    if not measured:
        return Value("", ("not measured",))
    small = Markup("<small>{}</small>")
    return Value(
        Markup().join(
            Markup("<strong>{}</strong>").format(value) + (small.format(detail) if detail else "")
            for value, detail in measured
        )
    )
