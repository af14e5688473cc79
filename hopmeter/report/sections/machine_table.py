"""Section that compares machines: states whether the machines rank the rows in the same order."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from hopmeter.analysis.results import machine_names
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.machine_order import Comparison, Correlation, Flip, compare_machines
from hopmeter.analysis.results.row_order import ranks
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.report.sections.section import Section
from hopmeter.report.tables.model import Column, Line, Table, Value, notes, table
from hopmeter.report.words import conditions, formatting

FACTS = {"distribution": "System", "kernel": "Kernel", "container": "Container", "virtualisation": "Virtual"}
CAPTION = Markup(
    "The rank of each row on each machine, and its median with the 95 % interval. The last column names pairs of rows "
    "whose order differs between machines: <em>flips</em> if the pair differs significantly on both machines, "
    "otherwise <em>may flip</em>."
)


def sections(runs: Sequence[Run], groups: Sequence[Group]) -> list[Section]:
    """Return a list with the section that compares machines, or an empty list if all runs come from one machine."""
    names = machine_names.names(runs)
    if not names:
        return []
    compared = [_part(each) for each in compare_machines(groups)]
    none = [] if compared else ["No conditions were measured on more than one of these machines."]
    return [
        Section("Comparison of the machines", tables=[machines(runs)], parts=compared, sentences=none, id="machines")
    ]


def machines(runs: Sequence[Run]) -> Table:
    """Return a table that states the system, kernel, container and runs of each machine."""
    names = machine_names.names(runs)
    lines = []
    for alike in machine_names.hosts(runs).values():
        known = alike[0].part("machine")
        facts = [str(known.get(key) or "unknown") for key in FACTS]
        own = formatting.join([run.name for run in alike])
        lines.append(Line([Value(text) for text in (names.get(id(alike[0]), ""), *facts, own)]))
    return table("the machines", [Column(title) for title in ("Machine", *FACTS.values(), "Runs")], lines)


def _part(compared: Comparison) -> Section:
    first, names = compared.groups[0], [group.machine for group in compared.groups]
    title = conditions.title(first).removesuffix(f", {first.machine}")
    columns = [Column("Transport", heads=True), *(Column(each, "number", "rank, p50 in µs") for each in names)]
    columns.append(Column("Between machines", "mark"))
    lines = _lines(compared)
    shown = table(f"{title} on every machine", columns, lines, CAPTION, "plain machines")
    return Section(title, sentences=summary(compared), tables=[shown])


def _lines(compared: Comparison) -> list[Line]:
    known = [{id(rank.row): rank.text for rank in ranks(group)} for group in compared.groups]
    lines = []
    for name in formatting.distinct(name for own in compared.rows for name in own):
        flips = mark(name, compared.flips)
        values = [_value(own.get(name), ranked) for own, ranked in zip(compared.rows, known, strict=True)]
        lines.append(Line([Value(name), *values, Value(flips)], "flips" if flips.startswith("flips") else ""))
    return lines


def _value(row: Row | None, ranked: dict[int, str]) -> Value:
    if row is None:
        return Value("", ("not measured",))
    rank = ranked.get(id(row), "")
    text = Markup('<span class="place">{}.</span> ').format(rank) if rank else Markup()
    return Value(text + formatting.number(row.p50), notes(formatting.interval(*(row.bounds or (None, None)))))


def mark(name: str, flips: Sequence[Flip]) -> str:
    """Return the rows whose order relative to the row `name` differs between machines."""
    words = []
    for significant, verb in ((True, "flips with"), (False, "may flip with")):
        own = [each for each in flips if each.significant == significant and name in (each.one, each.other)]
        if names := formatting.distinct(each.other if each.one == name else each.one for each in own):
            words.append(f"{verb} {formatting.join(names)}")
    return "; ".join(words)


def summary(compared: Comparison) -> list[str]:
    """Return sentences on the rank correlations between machines, and on rows whose order changes significantly."""
    flips = [
        f"{flip.one} is faster than {flip.other} on {flip.first}, and slower on {flip.second}."
        for flip in compared.flips
        if flip.significant
    ]
    return [*map(_correlation, compared.correlations), *flips]


def _correlation(each: Correlation) -> str:
    between = f"{each.first} and {each.second}"
    if each.spearman is None or each.kendall is None:
        return f"{between} have {formatting.plural(each.rows, 'row')} in common: too few for a correlation."
    return (
        f"{between}: rank correlation over {formatting.plural(each.rows, 'row')} "
        f"ρ = {each.spearman:.2f} (Spearman), τ = {each.kendall:.2f} (Kendall)."
    )
