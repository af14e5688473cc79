"""What the report shows of the studies: each claim with its answer, and their figures beside the measured ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hopmeter.report import formatting, hosts
from hopmeter.report.source import Run
from hopmeter.report.studies.beside import Table, tables
from hopmeter.report.studies.judging import Answer, Verdict, judge
from hopmeter.report.studies.known import Claim, claims


@dataclass(frozen=True)
class Part:
    """One study."""

    table: Table
    claims: list[tuple[Claim, Verdict]]
    here: list[str]
    """The columns of what was measured: a machine, or a run where the machine is the same."""

    @property
    def is_measured(self) -> bool:
        """Whether anything of it was measured here; the section is closed where nothing was."""
        lines = any(line.is_measured for line in self.table.lines)
        return lines or any(verdict.answer != "not measured" for _, verdict in self.claims)

    @property
    def summary(self) -> str:
        """`2 claims hold, 1 not resolved, 5 not measured`."""
        counts = Counter(verdict.answer for _, verdict in self.claims)
        order: tuple[Answer, ...] = ("holds", "does not hold", "not resolved", "not measured")
        said = [f"{counts[each]} {_plural(each, counts[each])}" for each in order if counts[each]]
        return f"Of {formatting.plural(len(self.claims), 'claim')}: {', '.join(said)}." if said else ""


def _plural(answer: str, many: int) -> str:
    several = {"holds": "hold", "does not hold": "do not hold"}
    return answer if many == 1 else several.get(answer, answer)


def parts(runs: Sequence[Run]) -> list[Part]:
    """The studies that these runs repeat, in part or as a whole."""
    return [_part(table, runs) for table in tables(runs)]


def _part(table: Table, runs: Sequence[Run]) -> Part:
    judged = [(claim, judge(claim, runs)) for claim in claims() if claim.study == table.study.name]
    judged.sort(key=lambda each: each[1].answer == "not measured")
    return Part(table, judged, _columns(runs))


def _columns(runs: Sequence[Run]) -> list[str]:
    named = hosts.names(runs)
    if len(runs) == 1:
        return [f"here: {runs[0].part('machine').get('cpu_model') or 'unknown processor'}"]
    return [f"{named.get(id(run)) or 'here'}, {run.name}" for run in runs]
