"""Warnings about the results. Each rule checks the rows of the runs, and explains what its warning means for the
results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hopmeter.analysis.cells.setting_hints import CODE as SETTING
from hopmeter.analysis.cost.process_use import mapped_mb
from hopmeter.analysis.latency.intervals import LEAST_TRIALS
from hopmeter.analysis.latency.percentiles import BEYOND, PERMILLE, QUICK_TRIALS, least_count
from hopmeter.analysis.results.run_results import TAILS, Row, Run
from hopmeter.messages import split_code
from hopmeter.report.answers.next_command import next_sentence
from hopmeter.report.warnings import environment_rules
from hopmeter.report.warnings.warning_rules import RULES, Caution, alike_texts, measured_rows, names, rule, sentence
from hopmeter.report.words import formatting

PACING_US = 50.0
"""A source causes a warning if its p99 pacing error exceeds this value."""
LEAST_BYTES = 2048.0
"""If the loopback device carried fewer bytes per message than this, it did not carry the payload."""
SHOWN = {"p50": "the median", "p99": "p99", "p999": "p99.9"}
"""The percentiles in tables: result columns and their names in sentences."""
MOST_LOST = 3
"""The maximum number of rows for which a warning lists lost percentiles."""
FULL = 0.95
"""A cell that uses at least this share of its cores counts as fully loaded."""
BELOW = 0.97
"""A multiple of the floor below this value causes a warning."""

__all__ = ["RULES", "Caution", "warnings"]


def warnings(runs: Sequence[Run]) -> list[Caution]:
    """Return all warnings, severe ones first. Among equally severe warnings, warnings about results come before
    warnings about the machine."""
    rules = sorted(RULES, key=lambda check: check.__module__ == environment_rules.__name__)
    found = [warning for check in rules for warning in check(runs)]
    return sorted(found, key=lambda warning: not warning.grave)


@rule
def few_trials(runs: Sequence[Run]) -> Iterator[Caution]:
    """Warn if a run is only a quick look: a run with few or short trials."""
    if any(run.quick for run in runs):
        yield Caution(
            "W-QUICK",
            "A quick look",
            f"Some cells have fewer than {QUICK_TRIALS} trials, or short trials. Intervals are wide, and the order may "
            f"change in the next run. {next_sentence(next(run for run in runs if run.quick))}".strip(),
        )


STEADY = ("W-UNRESOLVED", "W-CORES-BUSY", "W-LOST", "W-REFUSED", "W-NO-FLOOR")
"""The rules about the messages of a steady state."""


@dataclass(frozen=True)
class RowRule:
    """A warning about all rows that satisfy `applies`. In the text of the warning, the names of the affected rows
    precede `text`."""

    code: str
    title: str | Callable[[list[Row]], str]
    applies: Callable[[Row], object]
    text: str | Callable[[list[Row]], str]
    grave: bool = False

    def check(self, runs: Sequence[Run]) -> Iterator[Caution]:
        """Yield the warning of this rule if the rule applies to at least one row."""
        rows = [row for row in measured_rows(runs) if self._concerns(row) and self.applies(row)]
        if rows:
            title, text = (each if isinstance(each, str) else each(rows) for each in (self.title, self.text))
            yield Caution(self.code, title, f"{names(rows)}{text}", self.grave)

    def _concerns(self, row: Row) -> bool:
        """Return whether the rule suits the way in which the row was measured. Rules in STEADY do not apply to
        first messages and recoveries, which have one time per trial and no floor."""
        return self.code not in STEADY or not row.cell.axes.measures_moments


def _unresolved_tails(row: Row) -> list[str]:
    """Return the percentiles for which a row has too few messages. Percentiles that fall on a lost message are
    excluded, because additional messages do not resolve these percentiles."""
    return [each for each in TAILS if row.ok and row.tail(each) is None and row.state(each) != "lost"]


def _lacking_tails(rows: list[Row]) -> str:
    lacking = [SHOWN[tail] for tail in TAILS if any(tail in _unresolved_tails(row) for row in rows)]
    return f"Too few messages for {formatting.join(lacking)}"


def _few_messages(rows: list[Row]) -> str:
    """Return how many rows lack each percentile, and how many messages each percentile needs."""
    each = []
    for tail in TAILS:
        if lacking := sum(tail in _unresolved_tails(row) for row in rows):
            least = formatting.count(least_count(PERMILLE[tail]))
            rows_lack = formatting.plural(lacking, "row lacks", "rows lack")
            each.append(
                f"{SHOWN[tail]} needs about {least} messages in all trials together ({rows_lack} {SHOWN[tail]})"
            )
    return (
        f": fewer than {BEYOND} slower messages in all trials together, or fewer than {LEAST_TRIALS} good trials. "
        f"{'; '.join(each)}."
    )


def _is_lost(row: Row) -> bool:
    """Return whether a percentile in the tables falls on a lost message."""
    return row["status"] == "ok" and not row.cell.is_whole_workload and bool(_lost_percentiles(row))


def _lost_percentiles(row: Row) -> list[str]:
    return [name for column, name in SHOWN.items() if row.state(column) == "lost"]


def _lost_text(rows: list[Row]) -> str:
    """For each row, return the percentiles that fall on lost messages, and the reason."""
    each = [
        f"{formatting.percent(row.loss)} of {'its messages' if len(rows) == 1 else f'the messages of {names([row])}'} "
        f"never arrived, so {formatting.join(found)} {'has' if len(found) == 1 else 'have'} no value"
        for row in rows[:MOST_LOST]
        for found in [_lost_percentiles(row)]
    ]
    more = [formatting.plural(len(rows) - MOST_LOST, "other row")] if len(rows) > MOST_LOST else []
    remedy = "Measuring more messages would not help; use settings that prevent message loss."
    return f": {'; '.join([*each, *more])}. {remedy}"


def _loss(rows: list[Row]) -> str:
    worst = max(rows, key=lambda row: row.loss or 0)
    lost = f"{names([worst])} lost the most: {formatting.percent(worst.loss)}"
    return f": percentiles count a lost message as slower than all others; means leave lost messages out. {lost}."


def _negative(rows: list[Row]) -> str:
    many = formatting.count(sum(row["negative"] or 0 for row in rows))
    return (
        f": {many} messages have an arrival time before their sending time. Either the clocks of the cores differ, or "
        "the transport reports arrivals too early. Do not trust these rows."
    )


def _no_floor(rows: list[Row]) -> str:
    reasons = formatting.distinct(split_code(str(row["floor_reason"] or ""))[0] for row in rows)
    return " have no multiple of the floor" + (f": {'; '.join(reasons)}." if reasons else ".")


def _is_full(row: Row) -> bool:
    """Return whether a row uses all CPU time of its cores. Rows whose pace has no schedule are excluded, because a
    source without a schedule always uses all CPU time."""
    usable = row.cell.nodes.core_list or row.run.part("machine").get("usable_cores")
    per_message, rate = row["cpu_us_per_message"], row["achieved_hz"]
    if not (usable and per_message and rate) or row["wait"] == "spin" or not row.cell.axes.pacing.is_scheduled:
        return False
    return bool(per_message * rate * (row["pairs"] or 1) / 1e6 >= FULL * len(set(usable)))


ROW_RULES = (
    RowRule(
        "W-NO-INTERVAL",
        "No interval",
        lambda row: row.ok and row.bounds is None,
        f": fewer than {LEAST_TRIALS} good trials, or too few messages in one. These rows have no rank.",
    ),
    RowRule(
        "W-NO-MEDIAN",
        "Too few messages for a median",
        lambda row: (
            row["status"] == "ok" and row.p50 is None and row.state("p50") != "lost" and not row.cell.is_whole_workload
        ),
        lambda _: (
            f": a median needs {least_count(PERMILLE['p50'])} messages in all good trials together. "
            "`hopmeter show` and cells.parquet contain means, loss and CPU."
        ),
        grave=True,
    ),
    RowRule("W-UNRESOLVED", _lacking_tails, _unresolved_tails, _few_messages),
    RowRule("W-PERCENTILE-LOST", "A percentile is a lost message", _is_lost, _lost_text),
    RowRule(
        "W-SATURATED",
        "Could not keep up",
        lambda row: row["status"] == "saturated",
        ": the requested rate was not reached, too many messages were lost, or messages queued up. The latency "
        "includes the wait in a queue, so these rows are not ranked.",
        grave=True,
    ),
    RowRule(
        "W-CORES-BUSY",
        "Every core was busy",
        lambda row: row.ok and _is_full(row),
        ": all cores were busy although nothing was spinning. Messages may have waited for a core, not for the "
        "transport. Measure a lower rate to see the transport alone.",
        grave=True,
    ),
    RowRule(
        "W-TRIALS-FAILED",
        "Some trials failed",
        lambda row: row["status"] != "failed" and (row["trials_good"] or 0) < (row["trials"] or 0),
        ": results come from the good trials only. The section “What was not measured” lists the reasons.",
        grave=True,
    ),
    RowRule("W-LOST", "Messages were lost", lambda row: row.ok and row["lost"], _loss, grave=True),
    RowRule("W-DUPLICATED", "Messages arrived more than once", lambda row: row["duplicated"], "."),
    RowRule("W-REORDERED", "Messages arrived out of order", lambda row: row["reordered"], "."),
    RowRule(
        "W-REFUSED",
        "Sends were refused",
        lambda row: row.ok and row["busy"],
        " returned `busy`. The source then sent the message again; the time until the transport accepted the message "
        "is part of the response time, but not of the service time.",
    ),
    RowRule("W-NEGATIVE", "Negative latencies", lambda row: row["negative"], _negative, grave=True),
    RowRule(
        "W-BELOW-FLOOR",
        "Faster than the floor",
        lambda row: row.ok and (row["times_floor"] or 1.0) < BELOW,
        ": the floor is measured like any row, so its median varies too. If the intervals overlap, these rows are not "
        "significantly faster.",
    ),
    RowRule(
        "W-PACING",
        "The source was late",
        lambda row: row.ok and (row["pacing_error_p99_us"] or 0) > PACING_US,
        f": the source itself woke up more than {formatting.number(PACING_US)} µs late for 1 % of its messages. This "
        "delay is part of the response time; compare service times instead.",
    ),
    RowRule(
        "W-NO-FLOOR",
        "No floor",
        lambda row: row.ok and row.candidate and row["floor_us"] is None and row.cell.workload is None,
        _no_floor,
    ),
)


@rule
def row_warnings(runs: Sequence[Run]) -> Iterator[Caution]:
    """Check all rules in ROW_RULES."""
    for each in ROW_RULES:
        yield from each.check(runs)


@rule
def broken_content(runs: Sequence[Run]) -> Iterator[Caution]:
    """Warn about messages with wrong content, and about messages that do not belong to the measurement."""
    for column, code, what in (
        ("content_errors", "W-CONTENT", "arrived with wrong content"),
        ("malformed", "W-MALFORMED", "were not hopmeter frames"),
        ("foreign", "W-FOREIGN", "belonged to another run"),
        ("unrecorded", "W-UNRECORDED", "did not fit into the recorder and are missing from the results"),
        ("stray", "W-STRAY", "did not match any message that was sent"),
    ):
        rows = [row for row in measured_rows(runs) if row.get(column)]
        if rows:
            many = formatting.count(sum(row.get(column) for row in rows))
            yield Caution(
                code, f"{many} messages {what}", f"{names(rows)}.", grave=column in ("content_errors", "unrecorded")
            )


@rule
def fallbacks(runs: Sequence[Run]) -> Iterator[Caution]:
    """Warn about transports that fell back to a mode that the user did not request, such as UDP instead of shared
    memory."""
    for text, rows in alike_texts((row, str(text)) for row in measured_rows(runs) for text in row["warnings"] or []):
        words, code = split_code(text)
        if code == SETTING:
            continue  # tables already show such warnings below the row
        yield Caution(code or "W-FALLBACK", sentence(words), f"{names(rows)}.", grave=True)


@rule
def other_path(runs: Sequence[Run]) -> Iterator[Caution]:
    """Warn if a transport reports shared memory, but the kernel reports loopback traffic or no mapped shared memory."""
    rows = [row for row in measured_rows(runs) if "shared memory" in str(row["carried_by"] or "")]
    for row in rows:
        loopback = row["loopback_bytes_per_message"] or 0.0
        if loopback > max(row.cell.carriage.payload_bytes / 2, LEAST_BYTES):
            counted = f"{formatting.count(loopback)} bytes per message"
            yield _other_path([row], f"the loopback device carried {counted}, perhaps those of other programs")
    if unmapped := [row for row in rows if mapped_mb(row) == 0]:
        yield _other_path(unmapped, "no process mapped shared memory")


def _other_path(rows: Sequence[Row], but: str) -> Caution:
    paths = formatting.join(formatting.distinct(f"“{row['carried_by']}”" for row in rows))
    text = f"{names(rows)}: the transport reports {paths}, but {but}."
    return Caution("W-OTHER-PATH", "The data took another path", text, grave=True)
