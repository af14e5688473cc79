"""The table of the resources that each process of a group used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from hopmeter.analysis.cost.process_use import Process, Spread, mapped_mb, merge_roles, processes
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report.studies.study_values import published_cpu
from hopmeter.report.tables.model import Body, Column, Line, Table, Value, notes
from hopmeter.report.words import conditions, formatting
from hopmeter.report.words.workload_words import is_part, is_whole

COLUMNS = {
    "cpu_percent": Column("CPU", "number", "% of a core"),
    "spun_percent": Column("Spun", "number", "%", place="below", optional=True),
    "sampled_percent": Column("Sampled", "number", "%"),
    "user_percent": Column("User", "number", "%"),
    "system_percent": Column("System", "number", "%"),
    "cpu_us_per_message": Column("CPU, µs", "number", "per message"),
    "rss_peak_mb": Column("Memory", "number", "peak, MB"),
    "shared_mapped_mb": Column("Shared", "number", "MB", place="below", optional=True),
    "voluntary_switches_per_message": Column("Voluntary", "number", "switches/message"),
    "involuntary_switches_per_message": Column("Involuntary", "number", "switches/message"),
    "minor_faults_per_message": Column("Faults", "number", "per message"),
    "major_faults_per_message": Column("Faults", "number", "from disk", place="below", optional=True),
    "voluntary_switches_per_s": Column("Voluntary", "number", "switches/s"),
    "involuntary_switches_per_s": Column("Involuntary", "number", "switches/s"),
}
BELOW = {
    "spun_percent": "+{} spun",
    "major_faults_per_message": "{} from disk",
    "shared_mapped_mb": "maps {} shared",
}
"""Formats of statistics that a page shows below the previous value. A statistic that is zero is omitted."""
PER_MESSAGE = tuple(name for name in COLUMNS if name.endswith("_per_message"))
PER_SECOND = tuple(name for name in COLUMNS if name.endswith("_per_s"))
"""Statistics that are given per second for a participant of a workload, because the participant handles messages of
several flows."""
ROW = Column("Row", short="", place="heading", key="row")
"""The column with the row name. A page shows the name as a row heading, not in a column."""
NAME = Column("Process", "name", heads=True, short="process")
PARTICIPANT = Column("Participant", "name", heads=True, short="participant")
CAPTION = (
    "The median of the good trials; below or in brackets, the minimum and maximum. Each process is measured from its "
    "first measured message until it ends, including its last wait. CPU is user and system time without the time that "
    "a source <em>spun</em>, that is, busy-waited in order to send on time. <em>Switches</em> are context switches, "
    "<em>faults</em> are page faults. The kernel divides CPU time into user and system time by sampling at each tick, "
    "so the split is coarse in short trials."
)
SAMPLED = " <em>Sampled</em> is the mean of one sample per second, including the time that a source spun."
MAPPED = " Shared memory that a process <em>maps</em> counts as the process's memory once the process has touched it."


@dataclass(frozen=True)
class ProcessRow:
    """A result row and its processes."""

    row: Row
    name: str
    processes: tuple[Process, ...]

    @property
    def by_role(self) -> list[Process]:
        """The processes. If a role has many processes, the processes of the role are merged into one entry. Named
        participants of a workload remain separate."""
        return list(self.processes if self.row.cell.workload is not None else merge_roles(self.processes))

    @property
    def summary(self) -> str:
        """A summary such as `22 processes, 140 % of a core, 88 MB`."""
        units = {"cpu_percent": "% of a core", "rss_peak_mb": "MB"}
        known = {name: [found.middle for each in self.processes if (found := each[name])] for name in units}
        sums = [f"{formatting.number(sum(known[name]))}{formatting.THIN}{units[name]}" for name in units if known[name]]
        return ", ".join([formatting.plural(len(self.processes), "process", "processes"), *sums])


def process_rows(group: Group) -> list[ProcessRow]:
    """Return the rows whose processes are known. Return an empty list for a flow or path, because all processes belong
    to the whole workload."""
    if is_part(group):
        return []
    found = [(row, processes(row)) for row in group.rows]
    return [ProcessRow(row, group.label(row), each) for row, each in found if each]


def statistics(rows: Sequence[ProcessRow]) -> list[str]:
    """Return the names of the process statistics to show for the given rows. Sampled CPU is included only if the run
    sampled CPU use."""
    is_sampled = any(process["sampled_percent"] for each in rows for process in each.processes)
    others = PER_SECOND if rows and rows[0].row.cell.workload is None else PER_MESSAGE
    return [name for name in COLUMNS if name not in others and (is_sampled or name != "sampled_percent")]


def is_sampled(rows: Sequence[ProcessRow]) -> bool:
    """Return whether the run sampled the CPU use of the processes."""
    return "sampled_percent" in statistics(rows)


def used_table(group: Group, rows: Sequence[ProcessRow], each: bool = False) -> Table:
    """Return a table of the resources that processes used. Processes are merged by role unless `each` is true."""
    names, title = statistics(rows), what_used(group).lower()
    is_shared = any(mapped_mb(one.row) for one in rows)
    bodies = [Body(_lines(one, one.processes if each else one.by_role, names), one.name, one.summary) for one in rows]
    return Table(
        f"{title}, {conditions.title(group)}",
        [ROW, PARTICIPANT if is_whole(group) else NAME, *_columns(names)],
        bodies,
        Markup(CAPTION + SAMPLED * is_sampled(rows) + MAPPED * is_shared),
        "used",
    )


def each_table(group: Group, rows: Sequence[ProcessRow], row: ProcessRow, title: str) -> Table:
    """Return a table with one line for each process of one row. The table has the columns of the table that shows all
    rows."""
    whole = used_table(group, rows)
    return replace(whole, label=title, bodies=[Body(_lines(row, row.processes, statistics(rows)))], caption="")


def what_used(group: Group) -> str:
    """Return the title of the section on resources."""
    return f"What each {'participant' if is_whole(group) else 'process'} used"


def _columns(names: Sequence[str]) -> list[Column]:
    """Return the columns. A narrow terminal always shows the first column. The other columns are omitted one by one,
    starting with the last, until the table fits."""
    return [
        replace(COLUMNS[name], key=name, least=len(names) - place if place else 0) for place, name in enumerate(names)
    ]


def _lines(row: ProcessRow, shown: Sequence[Process], names: Sequence[str]) -> list[Line]:
    return [_line(row, process, names, "" if number else row.name) for number, process in enumerate(shown)]


def _line(row: ProcessRow, process: Process, names: Sequence[str], heading: str) -> Line:
    language = process.language
    other = f" ({language})" if language not in ("", row.row["language"]) else ""
    name = Value(process.name, notes(language), process.name, short=f"{process.name}{other}")
    return Line([Value(heading, data=row.name), name, *(_value(row, process, each) for each in names)])


def _value(row: ProcessRow, process: Process, name: str) -> Value:
    """Return a table cell with one statistic of a process. In a terminal, CPU is the only statistic shown with its
    range, because space is limited."""
    found = process[name]
    if found is None or (name in BELOW and not found.high):
        return Value(formatting.NOTHING)
    has_spread = name == "cpu_percent" and found.high > found.low
    return Value(
        text(found),
        notes(between(found), *(_study(row, process) if name == "cpu_percent" else ())),
        found.middle,
        inline=formatting.bracket(found.low, found.high) if has_spread else "",
        below=BELOW.get(name, "").format(text(found)),
        ends=(found.low, found.high),
    )


def text(found: Spread) -> str:
    """Return the median of a process statistic as text, such as `12.4`. A value below 1 is shown with two digits."""
    return formatting.number(found.middle, 3 if found.middle >= 1 else 2)


def between(found: Spread) -> str:
    """Return the range of a process statistic, such as `12 to 13`. Return an empty string if both bounds have the same
    text."""
    low, high = (formatting.number(end, 2) for end in (found.low, found.high))
    return f"{low} to {high}" if low != high else ""


def _study(row: ProcessRow, process: Process) -> list[str]:
    """Return the CPU use that studies published for a row's conditions, or an empty list if no study published CPU
    use."""
    role = "process" if len(row.processes) == 1 else process.roles
    published = published_cpu(row.row).get(role, "")
    return [Markup('<span class="study">study: {}</span>').format(published)] if published else []


def process_tables(groups: Iterable[Group]) -> list[Table]:
    """Return a table for each group whose processes are known, with one line for each process."""
    known = [(group, process_rows(group)) for group in groups]
    return [used_table(group, rows, each=True) for group, rows in known if rows]
