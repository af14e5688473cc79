"""The section on the resources of each process of a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from hopmeter.analysis.cost.process_use import Process, Spread, mapped_mb, merge_roles, processes
from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row
from hopmeter.report import conditions, formatting
from hopmeter.report.section import Fold, Section
from hopmeter.report.studies.study_values import published_cpu
from hopmeter.report.tables.model import Body, Column, Line, Table, Value, notes, table
from hopmeter.report.workload_words import is_part, is_whole

COLUMNS = {
    "cpu_percent": Column("CPU", "number", "% of a core"),
    "sampled_percent": Column("Sampled", "number", "%"),
    "user_percent": Column("User", "number", "%"),
    "system_percent": Column("System", "number", "%"),
    "cpu_us_per_message": Column("CPU, µs", "number", "per message"),
    "rss_peak_mb": Column("Memory", "number", "peak, MB"),
    "voluntary_switches_per_message": Column("Voluntary", "number", "switches/message"),
    "involuntary_switches_per_message": Column("Involuntary", "number", "switches/message"),
    "minor_faults_per_message": Column("Faults", "number", "per message"),
    "voluntary_switches_per_s": Column("Voluntary", "number", "switches/s"),
    "involuntary_switches_per_s": Column("Involuntary", "number", "switches/s"),
}
PER_MESSAGE = tuple(name for name in COLUMNS if name.endswith("_per_message"))
PER_SECOND = tuple(name for name in COLUMNS if name.endswith("_per_s"))
"""A participant of a workload handles messages of several flows, so its switches are those of a second."""
NAME = Column("Process", "name", heads=True)
PARTICIPANT = Column("Participant", "name", heads=True)
CAPTION = (
    "The median of the good trials; below it the least and the most. A process counts from its first measured message "
    "to its end, its last wait included. CPU is user and system time without the time that a source <em>spun</em> to "
    "be punctual. <em>Switches</em> are context switches, <em>faults</em> are page faults. The kernel separates user "
    "from system time by its ticks: a coarse estimate in short trials."
)
SAMPLED = " <em>Sampled</em> is the mean of one sample per second, and includes the time that a source spun."
MAPPED = " Shared memory that a process <em>maps</em> counts as its memory once it touches it."


@dataclass(frozen=True)
class ProcessRow:
    """A row of results, and its processes."""

    row: Row
    name: str
    processes: tuple[Process, ...]

    @property
    def by_role(self) -> list[Process]:
        """The processes, those of one role together if there are many; participants of a workload have names."""
        return list(self.processes if self.row.cell.workload is not None else merge_roles(self.processes))

    @property
    def summary(self) -> str:
        """`22 processes, 140 % of a core, 88 MB`."""
        units = {"cpu_percent": "% of a core", "rss_peak_mb": "MB"}
        known = {name: [found.middle for each in self.processes if (found := each[name])] for name in units}
        sums = [f"{formatting.number(sum(known[name]))}{formatting.THIN}{units[name]}" for name in units if known[name]]
        return ", ".join([formatting.plural(len(self.processes), "process", "processes"), *sums])


def process_rows(group: Group) -> list[ProcessRow]:
    """Return the rows of a group whose processes are known; a process of a workload belongs to the whole."""
    if is_part(group):
        return []
    found = [(row, processes(row)) for row in group.rows]
    return [ProcessRow(row, group.label(row), each) for row, each in found if each]


def statistics(rows: Sequence[ProcessRow]) -> list[str]:
    """Return the statistics that these rows have; CPU is sampled only on request."""
    is_sampled = any(process["sampled_percent"] for each in rows for process in each.processes)
    others = PER_SECOND if rows and rows[0].row.cell.workload is None else PER_MESSAGE
    return [name for name in COLUMNS if name not in others and (is_sampled or name != "sampled_percent")]


def sections(group: Group) -> list[Section]:
    """One section, or none if no process is known; open if the scenario samples CPU."""
    rows = process_rows(group)
    if not rows:
        return []
    names = statistics(rows)
    is_sampled, is_shared = "sampled_percent" in names, any(mapped_mb(each.row) for each in rows)
    columns = [PARTICIPANT if is_whole(group) else NAME, *(COLUMNS[name] for name in names)]
    title = "What each participant used" if is_whole(group) else "What each process used"
    caption = Markup(CAPTION + SAMPLED * is_sampled + MAPPED * is_shared)
    bodies = [Body([_line(each, process, names) for process in each.by_role], each.name, each.summary) for each in rows]
    whole = Table(f"{title.lower()}, {conditions.title(group)}", columns, bodies, caption, "used")
    single = [_single(each, columns, names) for each in rows if len(each.by_role) < len(each.processes)]
    fold: Fold = "open" if is_sampled else "closed"
    return [Section(title, tables=[whole], parts=single, style="processes", fold=fold)]


def _single(row: ProcessRow, columns: Sequence[Column], names: Sequence[str]) -> Section:
    lines = [_line(row, process, names) for process in row.processes]
    title = f"Each of {len(row.processes)} processes of {row.name}"
    return Section(title, tables=[table(title, columns, lines, style="used")], style="each", fold="closed")


def _line(row: ProcessRow, process: Process, names: Sequence[str]) -> Line:
    name = Value(process.name, (process.language,) if process.language else ())
    return Line([name, *(_value(row, process, each) for each in names)])


def _value(row: ProcessRow, process: Process, name: str) -> Value:
    found = process[name]
    if found is None:
        return Value(formatting.NOTHING)
    study = _study(row, process) if name == "cpu_percent" else ()
    return Value(text(found), notes(between(found), *_more(process, name), *study))


def text(found: Spread) -> str:
    """`12.4`; two digits below 1."""
    return formatting.number(found.middle, 3 if found.middle >= 1 else 2)


def between(found: Spread) -> str:
    """`12 to 13`; empty if both ends are alike."""
    low, high = (formatting.number(end, 2) for end in (found.low, found.high))
    return f"{low} to {high}" if low != high else ""


MORE = {
    "cpu_percent": ("spun_percent", "+{} spun"),
    "minor_faults_per_message": ("major_faults_per_message", "{} from disk"),
    "rss_peak_mb": ("shared_mapped_mb", "maps {} shared"),
}
"""A second statistic below the first one, unless it is zero."""


def _more(process: Process, name: str) -> list[str]:
    other, words = MORE.get(name, ("", ""))
    found = process[other] if other else None
    return [words.format(text(found))] if found and found.high else []


def _study(row: ProcessRow, process: Process) -> list[str]:
    """Return the CPU that a study published for the same conditions."""
    role = "process" if len(row.processes) == 1 else process.roles
    published = published_cpu(row.row).get(role, "")
    return [Markup('<span class="study">study: {}</span>').format(published)] if published else []
