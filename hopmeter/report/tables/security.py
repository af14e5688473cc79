"""The table of the cost of encryption. Each encrypted row follows the row that differs only in not being encrypted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hopmeter.analysis.results.encrypted_rows import encrypted_rows, unencrypted_row
from hopmeter.analysis.results.groups import Group, groups
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.report.tables import row_values
from hopmeter.report.tables.model import Body, Column, Line, Table, Value
from hopmeter.report.tables.ranking import INTERVAL
from hopmeter.report.words import conditions, formatting

COLUMNS = (
    row_values.RANK,
    row_values.TRANSPORT,
    row_values.LANGUAGE,
    Column("p50, µs", "number", INTERVAL, short="p50 µs (95 %)", key="p50_us", least=3),
    Column("Times off", "number", INTERVAL, short="×off (95 %)", key="times_unsecured"),
    Column("CPU, µs", "number", "for each message", short="CPU µs", key="cpu_us_per_message", least=2),
    Column("CPU times off", "number", INTERVAL, short="CPU ×off (95 %)", key="cpu_times_unsecured"),
    Column("Covers", short="covers", key="security_covers", least=1),
)
CAPTION = (
    "Rank: within each transport; rows with the same rank do not differ significantly. Times off: the median latency "
    "divided by that of the same transport with `security=off`, compared round by round. CPU: the time of all "
    "processes for each message, including the broker. Covers: what the encryption protects."
)


def security_tables(runs: Sequence[Run]) -> list[Table]:
    """Return a table for each group of rows in which a transport was measured with and without encryption."""
    return [_table(group) for group in _compared_groups(runs)]


def security_sentences(runs: Sequence[Run]) -> list[str]:
    """Return one sentence for each table, which tells how many times as long a message takes with encryption."""
    return [_sentence(group) for group in _compared_groups(runs)]


def _compared_groups(runs: Iterable[Run]) -> list[Group]:
    return [group for group in groups(list(runs)) if encrypted_rows(group)]


def _table(group: Group) -> Table:
    return Table(
        f"What security costs, {conditions.title(group)}",
        COLUMNS,
        [Body(list(_lines(group)))],
        CAPTION,
        "ranking",
        sentences=[_sentence(group)],
        chips=conditions.chips(group),
    )


def _lines(group: Group) -> Iterator[Line]:
    for row in encrypted_rows(group):
        first, second = _ranks(row)
        yield _line(group, unencrypted_row(group, row), first, row_values.ratio_value(1.0), row_values.ratio_value(1.0))
        yield _line(group, row, second, _ratio(row, "times_unsecured"), _ratio(row, "cpu_times_unsecured"))


def _line(group: Group, row: Row, rank: str, times: Value, cpu_times: Value) -> Line:
    cpu_us, covers = row["cpu_us_per_message"], row["security_covers"] or ""
    return Line(
        [
            Value(rank, data=rank),
            row_values.name_value(group, row),
            Value(str(row["language"]), sort=row["language"]),
            row_values.amount_value(row.p50, *row.interval("p50")),
            times,
            Value(formatting.number(cpu_us), sort=cpu_us),
            cpu_times,
            Value(covers, sort=covers),
        ],
        row_values.line_style(row),
        row_values.remarks(row),
    )


def _ratio(row: Row, name: str) -> Value:
    return row_values.ratio_value(*(row.get(f"{name}{end}") for end in ("", "_low", "_high")))


def _ranks(row: Row) -> tuple[str, str]:
    """Return the ranks of the unencrypted and the encrypted row, or empty ranks if it is unknown which is faster."""
    low, high = row["times_unsecured_low"], row["times_unsecured_high"]
    if low is None or high is None:
        return "", ""
    return ("1", "2") if low > 1 else ("2", "1") if high < 1 else ("1–2", "1–2")


def _sentence(group: Group) -> str:
    found = [_words(row) for row in encrypted_rows(group) if row["times_unsecured"] is not None]
    if not found:
        return f"For {conditions.subject(group)}, no transport has results both with and without encryption."
    return f"For {conditions.subject(group)}, compared with the same transport without encryption: {'; '.join(found)}."


def _words(row: Row) -> str:
    times, cpu = _ratio(row, "times_unsecured"), _ratio(row, "cpu_times_unsecured")
    name = f"{formatting.row_name(row)} with {row['security']}"
    cost = f"{times.line_text} times the latency {times.inline}".strip()
    return f"{name} takes {cost} and {cpu.line_text} times the CPU {cpu.inline}".strip()
