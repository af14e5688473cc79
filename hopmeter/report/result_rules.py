"""What a reader must know before believing a figure, in plain words. One rule a function, found by their marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hopmeter.analysis.percentiles import BEYOND, LEAST_TRIALS, PERMILLE, QUICK_TRIALS, least_count
from hopmeter.analysis.process_use import mapped_mb
from hopmeter.analysis.run_results import Row, Run
from hopmeter.messages import split_code
from hopmeter.report import environment_rules, formatting
from hopmeter.report.warning_rules import RULES, Caution, measured, names, rule, sentence

PACING_US = 50.0
"""How late a source may wake before it is said."""
LEAST_BYTES = 2048.0
"""Less over the loopback device is a notice and not the payload."""

FULL = 0.95
"""From this share of its cores on, a cell has used them all."""

BELOW = 0.97
"""A smaller multiple of the floor is said."""

__all__ = ["RULES", "Caution", "warnings"]


def warnings(runs: Sequence[Run]) -> list[Caution]:
    """Everything found: grave things first, and those of the figures before those of the machine."""
    rules = sorted(RULES, key=lambda check: check.__module__ == environment_rules.__name__)
    found = [warning for check in rules for warning in check(runs)]
    return sorted(found, key=lambda warning: not warning.grave)


@rule
def few_trials(runs: Sequence[Run]) -> Iterator[Caution]:
    """A quick look is no verdict."""
    if any(run.quick for run in runs):
        yield Caution(
            "W-QUICK",
            "A quick look",
            f"Fewer than {QUICK_TRIALS} trials a cell, or short ones. Intervals are wide, tails are thin, and an order "
            f"may flip on the next run. For a verdict, measure {QUICK_TRIALS} trials or more, and longer ones.",
        )


@rule
def no_interval(runs: Sequence[Run]) -> Iterator[Caution]:
    """Without three good trials there is no spread to judge by."""
    rows = [row for row in measured(runs) if row.ok and row.latency("p50_low") is None]
    if rows:
        yield Caution(
            "W-NO-INTERVAL",
            "No interval",
            f"{names(rows)}: fewer than {LEAST_TRIALS} good trials, or too few messages in one, for an interval. "
            "These rows have no place in the order.",
        )


@rule
def no_median(runs: Sequence[Run]) -> Iterator[Caution]:
    """What was measured, but too little for the figure that rows are ordered by."""
    rows = [row for row in measured(runs) if row["status"] == "ok" and row.p50 is None]
    if rows:
        yield Caution(
            "W-NO-MEDIAN",
            "Too few messages for a median",
            f"{names(rows)}: a median takes {least_count(PERMILLE['p50'])} messages in all good trials together. "
            "Means, loss and CPU are known: `hopmeter show` and cells.parquet have them.",
            grave=True,
        )


@rule
def unresolved(runs: Sequence[Run]) -> Iterator[Caution]:
    """A percentile needs enough messages beyond it."""
    for column, name in (("p99", "p99"), ("p999", "p99.9")):
        rows = [row for row in measured(runs) if row.ok and row.latency(column) is None]
        if rows:
            yield Caution(
                "W-UNRESOLVED",
                f"{name} is not resolved everywhere",
                f"{formatting.plural(len(rows), 'row')} had fewer than {BEYOND} messages beyond it, which takes about "
                f"{formatting.count(least_count(PERMILLE[column]))} messages in all: {names(rows)}.",
            )


@rule
def saturated(runs: Sequence[Run]) -> Iterator[Caution]:
    """Overload is not latency."""
    rows = [row for row in measured(runs) if row["status"] == "saturated"]
    if rows:
        yield Caution(
            "W-SATURATED",
            "Could not keep up",
            f"{names(rows)}: the rate that was asked was not reached, too much was lost, or messages stood in queues "
            "all along. What these rows show is a queue, so they are not ranked.",
            grave=True,
        )


@rule
def every_core_busy(runs: Sequence[Run]) -> Iterator[Caution]:
    """A short queue that stays as it is does not look like one: the source is punctual and nothing is lost."""
    rows = [row for row in measured(runs) if row.ok and _is_full(row)]
    if rows:
        yield Caution(
            "W-CORES-BUSY",
            "Every core was busy",
            f"{names(rows)}: all that a cell may use was used, though nobody span. Messages may have waited for a core "
            "and not for the transport; ask for a lower rate to see what it takes by itself.",
            grave=True,
        )


def _is_full(row: Row) -> bool:
    """Of paces that have a rate: the others take all there is."""
    usable = row.cell.nodes.core_list or row.run.part("machine").get("usable_cores")
    per_message, rate = row["cpu_us_per_message"], row["achieved_hz"]
    if not (usable and per_message and rate) or row["wait"] == "spin" or not row.cell.axes.pacing.is_scheduled:
        return False
    return bool(per_message * rate * (row["pairs"] or 1) / 1e6 >= FULL * len(set(usable)))


@rule
def failed_trials(runs: Sequence[Run]) -> Iterator[Caution]:
    """A cell that stands on fewer trials than planned."""
    rows = [
        row for row in measured(runs) if row["status"] != "failed" and (row["trials_good"] or 0) < (row["trials"] or 0)
    ]
    if rows:
        yield Caution(
            "W-TRIALS-FAILED",
            "Some trials failed",
            f"{names(rows)}: figures come from the good trials alone; the reasons stand under “What was not measured”.",
            grave=True,
        )


@rule
def lost(runs: Sequence[Run]) -> Iterator[Caution]:
    """Percentiles are of what arrived."""
    rows = [row for row in measured(runs) if row.ok and row["lost"]]
    if rows:
        worst = max(rows, key=lambda row: row.loss or 0)
        yield Caution(
            "W-LOST",
            "Messages were lost",
            f"{names(rows)}: latencies are those of the messages that arrived. Most were lost by "
            f"{names([worst])}: {formatting.percent(worst.loss)}.",
            grave=True,
        )


@rule
def doubled_or_disordered(runs: Sequence[Run]) -> Iterator[Caution]:
    """Not what most programs expect."""
    for column, code, what in (
        ("duplicated", "W-DUPLICATED", "more than once"),
        ("reordered", "W-REORDERED", "out of order"),
    ):
        rows = [row for row in measured(runs) if row[column]]
        if rows:
            yield Caution(code, f"Messages arrived {what}", f"{names(rows)}.")


@rule
def refused(runs: Sequence[Run]) -> Iterator[Caution]:
    """Backpressure is part of the response time."""
    rows = [row for row in measured(runs) if row.ok and row["busy"]]
    if rows:
        yield Caution(
            "W-REFUSED",
            "Sends were refused",
            f"{names(rows)} answered `busy`; the message was offered again, and the time until it "
            "was taken counts in the response, not in the service time.",
        )


@rule
def negative_samples(runs: Sequence[Run]) -> Iterator[Caution]:
    """Arrived before sent: nothing is censored, but nobody should believe it."""
    rows = [row for row in measured(runs) if row["negative"]]
    if rows:
        many = formatting.count(sum(row["negative"] for row in rows))
        yield Caution(
            "W-NEGATIVE",
            "Negative latencies",
            f"{names(rows)}: {many} messages were stamped as arrived before they were sent. The clock cannot be "
            "compared between cores here, or the transport hands over early; do not trust these rows.",
            grave=True,
        )


@rule
def broken_content(runs: Sequence[Run]) -> Iterator[Caution]:
    """Fast and wrong is wrong."""
    for column, code, what in (
        ("content_errors", "W-CONTENT", "arrived with other bytes than were sent"),
        ("malformed", "W-MALFORMED", "were no frames of hopmeter"),
        ("foreign", "W-FOREIGN", "belonged to another run"),
        ("unrecorded", "W-UNRECORDED", "did not fit into the recorder and are missing from the figures"),
        ("stray", "W-STRAY", "could not be matched to a message that was sent"),
    ):
        rows = [row for row in measured(runs) if row[column]]
        if rows:
            many = formatting.count(sum(row[column] for row in rows))
            yield Caution(
                code, f"{many} messages {what}", f"{names(rows)}.", grave=column in ("content_errors", "unrecorded")
            )


@rule
def measured_otherwise(runs: Sequence[Run]) -> Iterator[Caution]:
    """What a transport did otherwise than asked, such as UDP in place of shared memory."""
    noted: dict[str, list[Row]] = {}
    for row in measured(runs):
        for text in row["warnings"] or []:
            noted.setdefault(str(text), []).append(row)
    for text, rows in noted.items():
        said, code = split_code(text)
        yield Caution(code or "W-FALLBACK", sentence(said), f"{names(rows)}.", grave=True)


@rule
def other_path(runs: Sequence[Run]) -> Iterator[Caution]:
    """Is shared memory really in use? What the transport says, held against what the loopback device counted; what it
    knows itself to be otherwise than asked, `measured_otherwise` tells."""
    for row in measured(runs):
        path, loopback = str(row["path"] or ""), row["loopback_bytes_per_message"] or 0.0
        over_loopback = "shared memory" in path and loopback > max(row.cell.carriage.payload_bytes / 2, LEAST_BYTES)
        if over_loopback:
            seen = (
                f"{formatting.count(loopback)} bytes per message went over the loopback device, "
                "its own or other programs'"
            )
            yield Caution(
                "W-OTHER-PATH", "The data took another way", f"{names([row])} says “{path}”; {seen}.", grave=True
            )


@rule
def nothing_mapped(runs: Sequence[Run]) -> Iterator[Caution]:
    """Who says shared memory has some mapped: the kernel knows, whatever a transport says of itself."""
    found = [row for row in measured(runs) if "shared memory" in str(row["path"] or "") and mapped_mb(row) == 0]
    if found:
        told = formatting.listed(formatting.distinct(f"“{row['path']}”" for row in found))
        yield Caution(
            "W-OTHER-PATH",
            "The data took another way",
            f"{names(found)} says {told}; no process had shared memory mapped.",
            grave=True,
        )


@rule
def below_floor(runs: Sequence[Run]) -> Iterator[Caution]:
    """A floor is measured like any row, and has a spread of its own."""
    rows = [row for row in measured(runs) if row.ok and (row["times_floor"] or 1.0) < BELOW]
    if rows:
        yield Caution(
            "W-BELOW-FLOOR",
            "Quicker than the floor",
            f"{names(rows)}: the floor is measured like any row and has a spread of its own. Look whether the "
            "intervals overlap before you believe that these are cheaper than the cheapest way.",
        )


@rule
def loose_pacing(runs: Sequence[Run]) -> Iterator[Caution]:
    """A source that is late inflates every response."""
    rows = [row for row in measured(runs) if row.ok and (row["pacing_error_p99_us"] or 0) > PACING_US]
    if rows:
        yield Caution(
            "W-PACING",
            "The source was late",
            f"{names(rows)}: in 1 % of its messages the source itself woke more than "
            f"{formatting.number(PACING_US)} µs after they were due. This counts in the response; "
            "compare the service time.",
        )


@rule
def no_floor(runs: Sequence[Run]) -> Iterator[Caution]:
    """A figure without a floor says nothing about the transport."""
    rows = [row for row in measured(runs) if row.ok and row.candidate and row["floor_us"] is None]
    reasons = formatting.distinct(split_code(str(row["floor_reason"] or ""))[0] for row in rows)
    if rows:
        yield Caution(
            "W-NO-FLOOR",
            "No floor",
            f"{names(rows)} cannot be shown as a multiple of the cheapest way"
            + (f": {'; '.join(reasons)}." if reasons else "."),
        )
