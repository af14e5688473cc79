"""The advice from a run as five lines of text or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.model.cell import WHOLE
from hopmeter.report.advice.changes import advise_command, changes
from hopmeter.report.advice.decision import Decision, decide, has_result, is_better
from hopmeter.report.advice.overload import overload_sentence
from hopmeter.report.advice.questions import Question, questions
from hopmeter.report.advice.row_json import row_json
from hopmeter.report.advice.row_words import (
    comparison_words,
    cpu_words,
    full_name,
    lossless_of,
    names,
    ratio_words,
    result_words,
    settings_words,
    why_not,
)
from hopmeter.report.answers.comparison_sentences import name
from hopmeter.report.answers.next_command import next_sentence
from hopmeter.report.answers.open_requirements import requirements_of_run
from hopmeter.report.answers.unlike_rows import unlike_sentences
from hopmeter.report.words import conditions, formatting
from hopmeter.report.words.workload_words import is_whole

HEADS = ("take", "better", "cpu", "settings", "changes")
LOST = "lost = 0"


@dataclass(frozen=True)
class RunAdvice:
    """The advice from a run. `now` names the user's current transport, or is None."""

    run: Run
    now: str | None = None

    @cached_property
    def questions(self) -> list[Question]:
        """The questions of the run. The advice answers the first question; the other questions show under which
        conditions the answer changes."""
        return questions(self.run)

    @cached_property
    def decision(self) -> Decision:
        """The decision on the run's first question."""
        return decide(self.questions[0].deciding, self.now)

    @property
    def take(self) -> Row | None:
        """The recommended row, or None if the run supports no recommendation."""
        return self.decision.take

    @cached_property
    def now_row(self) -> Row | None:
        """The best row of the user's current transport, or None if this transport was not measured."""
        rows = [row for row in self.decision.group.rows if row["transport"] == self.now]
        place = {row.id: at for at, row in enumerate((*self.decision.best, *self.decision.worse))}
        return min(rows, key=lambda row: (place.get(row.id, len(place)), not row.ok, row.p50 or 0.0), default=None)

    @cached_property
    def lines(self) -> dict[str, str]:
        """The five lines of the advice, by key. If there is no recommendation, the lines name the undecided rows and a
        command that could decide between them."""
        take = self.take
        if take is None:
            overload = overload_sentence(self.decision)
            command = f"{overload}." if overload and not self.decision.best else self._deciding_command()
            next_words = [command, *unlike_sentences([self.decision.group])]
            return {"take": f"No recommendation: {self._open_words()}", "changes": " ".join(next_words)}
        found = [self._take_words(take), self._better_words(take), self._cpu_words(take), self._settings_words(take)]
        further = ". ".join(each[:1].upper() + each[1:] for each in self.changes)
        return dict(zip(HEADS, [*found, f"{further}."], strict=True))

    @cached_property
    def changes(self) -> list[str]:
        """Sentences, without a final full stop, on conditions that change the answer and on conditions that were not
        measured."""
        return changes(self.run, self.questions[0], self.questions[1:], self.decision)

    def _take_words(self, take: Row) -> str:
        group, others = self.decision.group, self.decision.best[1:]
        wanted = requirements_of_run(self.run)
        meets = f"it meets {formatting.join(wanted)}; " if wanted else ""
        subject = WHOLE if is_whole(group) else conditions.subject(group)
        return f"{full_name(group, take)}, for {subject}: {meets}{result_words(group, take)}.{self._ties(take, others)}"

    def _ties(self, take: Row, others: Sequence[Row]) -> str:
        """Return a sentence about the rows that do not differ significantly from the recommended row. Return an empty
        string if all other rows differ significantly."""
        if not others:
            return ""
        group, many = self.decision.group, len(others) > 1
        them = names(group, others)
        if self.decision.by == "same":
            return f" {them} {'differ' if many else 'differs'} from {name(group, take)} by at most 5{formatting.THIN}%."
        reasons = {
            "cpu": f"; {name(group, take)} needs the least CPU",
            "now": "; there is no reason to change your transport",
        }
        why = reasons.get(self.decision.by, "; this run gives no reason to prefer one of them")
        return f" {them} {'do' if many else 'does'} not differ significantly from {name(group, take)}{why}."

    def _better_words(self, take: Row) -> str:
        """Compare the recommended row with the next-best row, the best significantly slower row and the current
        transport."""
        group = self.decision.group
        rivals = [row for row in (*self.decision.best[1:], *self.decision.worse) if row is not take]
        said = [f"the next row, {name(group, rivals[0])}, {comparison_words(group, take, rivals[0])}"] if rivals else []
        slower = [row for row in self.decision.worse if is_better(group, take, row)]
        if slower and slower[0] not in rivals[:1]:
            worse = f"{name(group, slower[0])}, {comparison_words(group, take, slower[0])}"
            said.append(f"the first significantly worse row, {worse}")
        if not said:
            said = [f"no other transport {'meets the requirements' if requirements_of_run(self.run) else 'kept up'}"]
        return f"{'; '.join([*said, *self._now_words(take, rivals[:1])])}."

    def _now_words(self, take: Row, told: Sequence[Row]) -> Iterator[str]:
        row, group = self.now_row, self.decision.group
        if self.now is None:
            return
        if row is None:
            yield f"your current transport, {self.now}, was not measured"
        elif row is take:
            yield f"{name(group, row)} is your current transport"
        elif row["status"] != "ok" or (row.recommendable and not has_result(group, row)):
            yield f"your current transport, {name(group, row)}, {why_not(row) or 'has no result'}"
        else:
            refused = why_not(row) if row.recommendable else ""
            if row in told:
                words = f"{name(group, row)} is your current transport"
            else:
                words = f"your current transport, {name(group, row)}, {comparison_words(group, take, row)}"
            yield f"{words}{f', and {refused}' if refused else ''}"

    def _cpu_words(self, take: Row) -> str:
        group, others = self.decision.group, [*self.decision.best[1:], *self.decision.worse][:1]
        rows = [take, *others, *([self.now_row] if self.now_row and self.now_row not in (take, *others) else [])]
        return f"{'; '.join(f'{name(group, row)} needs {cpu_words(row)}' for row in rows if row['cpu_core_percent'])}."

    def _settings_words(self, take: Row) -> str:
        values = dict(take.cell.carriage.settings)
        measured = settings_words(values) if values else "none to set"
        waits = "" if is_whole(self.decision.group) else f"; receivers used `wait = {take['wait']}`"
        return f"{measured}{waits}. {self._loss_words(take)}"

    def _loss_words(self, take: Row) -> str:
        """Return how many messages were lost, and the settings that prevent loss."""
        sent = (take["received"] or 0) + (take["lost"] or 0)
        if take["pattern"] != "pubsub":
            return f"{formatting.count(take['lost'] or 0)} of {formatting.count(sent)} calls had no reply."
        lost = f"{formatting.count(take['lost'] or 0)} of {formatting.count(sent)} messages were lost"
        lossless = lossless_of(take)
        if lossless is None:
            return f"{lost}; hopmeter knows no settings that prevent all message loss."
        lacking = {
            each: value for each, value in lossless.settings.items() if take.cell.carriage.settings.get(each) != value
        }
        if not lacking:
            return f"{lost}; with these settings, a sender waits instead of losing messages."
        command = advise_command(self.run, "--require", LOST)
        return f"{lost}; {settings_words(lacking)} would prevent any loss (not measured; `{command}` measures it)."

    def _open_words(self) -> str:
        """Return the reason why the run supports no recommendation."""
        found, group = self.decision, self.decision.group
        wanted = formatting.join(requirements_of_run(self.run))
        if found.best and not found.worse and len(found.best) == 1:
            return f"only {name(group, found.best[0])} was measured, so there is nothing to compare it with."
        if found.best:
            return f"{names(group, found.best)} do not differ significantly{self._differences()}."
        if found.undecided:
            return f"it is undecided whether {names(group, found.undecided)} meet {wanted}."
        if wanted and any(has_result(group, row) for row in found.missing):
            return f"{names(group, found.missing)} miss {wanted}, and no other transport kept up."
        return "no transport that you can install has a valid result."

    def _differences(self) -> str:
        """Return the possible ratios between the best rows, as a phrase that ends a sentence."""
        first, *others = self.decision.best
        group = self.decision.group
        if is_whole(group):
            known = [f"{name(group, row)}: {result_words(group, row)}" for row in (first, *others[:2])]
            return f" ({'; '.join(known)})"
        known = [f"{name(group, row)} takes {ends}" for row in others[:2] if (ends := ratio_words(first, row))]
        return f": {'; '.join(known)}" if known else ""

    def _deciding_command(self) -> str:
        if self.decision.missing and not (self.decision.best or self.decision.undecided):
            return (
                "Relax the requirements, or measure other transports; `hopmeter transports` shows how to install them."
            )
        return next_sentence(self.run) or f"`{advise_command(self.run, '--budget', '10m')}` measures longer."

    def as_json(self) -> dict[str, Any]:
        """Return the advice in JSON form."""
        found, take = self.decision, self.take
        rivals = [*found.best[1:], *found.worse]
        group = found.group
        return {
            "decided": take is not None,
            "question": conditions.subject(found.group),
            "take": row_json(group, take, take),
            "decided_by": found.by or None,
            "not_different": [row_json(group, row, take) for row in (found.best[1:] if take else found.best)],
            "next": row_json(group, rivals[0] if take and rivals else None, take),
            "now": row_json(group, self.now_row, take),
            "misses": [row_json(group, row, take) for row in found.missing],
            "undecided": [row_json(group, row, take) for row in found.undecided],
            "changes": self.changes,
            "lines": self.lines,
            "run": str(self.run.folder),
        }
