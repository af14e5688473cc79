"""Report section of `hopmeter ask`: the waiting times for each server and for all servers, also relative to the
requested work."""

from __future__ import annotations

from dataclasses import dataclass

from hopmeter.analysis.results.distributions import box
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.report.by_hand.folder import LOGS, Delays, Names, box_figure, count, delays, line, number, row
from hopmeter.report.by_hand.folder import section as hand_section
from hopmeter.report.sections.section import Section
from hopmeter.report.tables.model import Value
from hopmeter.report.words import formatting
from hopmeter.report.words.codec_rows import PlacedBox

ALL = "all servers"
"""The text that appears in place of the transport in the row for all servers. No transport name contains spaces."""
TOTAL = "For each frame: the time until a server's reply is received and decoded, and until all replies are."
BEYOND_THE_WORK = "These times minus the requested work: the time for sending, waking up and waiting."
MEANING = f"{TOTAL} Beyond the work: the mean minus the requested work."
Found = dict[Names, Delays]


@dataclass(frozen=True)
class ServerBox(PlacedBox):
    """The box plot entry of one server or of all servers together. The `codec` field contains the label of the box
    instead of a codec."""

    @property
    def name(self) -> str:
        """The label, such as `left over zeromq` or `all at once`."""
        return self.codec if self.series == ALL else super().name


def section(run: Run, figure_number: int) -> Section:
    """Return the report section of one `hopmeter ask` run."""
    found = delays(run.folder / LOGS["asker"], ("server", "transport"))
    works = _works_ns(run, found)
    run.rows = [_row(run, names, known) for names, known in found.items()]
    lines = [line(names, one, _more(one, works.get(names))) for names, one in zip(found, run.rows, strict=True)]
    beyond = {names: known - round(works[names]) for names, known in found.items() if names in works}
    figures = [
        box_figure(run, f"across-asked-{figure_number}", "Reply time of each server", TOTAL, _place(run, found)),
        box_figure(
            run,
            f"across-asked-over-{figure_number}",
            "Time beyond the work",
            BEYOND_THE_WORK,
            _place(run, beyond if any(works.values()) else {}),
        ),
    ]
    heads = (("Server", "Transport"), ("Std, µs", "Beyond the work, µs", "Frames"))
    return hand_section(run, _title(run), _details(run), MEANING, heads, lines, figures, _warnings(run))


def _row(run: Run, names: Names, known: Delays) -> Row:
    return row(run, names[1] or ALL, names[0], "scatter", known, _lost(run, names))


def _lost(run: Run, names: Names) -> int:
    """Return the number of incomplete frames or, for one server, of requests without a reply. For results written by
    earlier versions of hopmeter, the number is 0."""
    known = run.about.get("lost_each")
    lost = known.get(names[0]) if isinstance(known, dict) else None
    return lost if isinstance(lost, int) else 0


def _title(run: Run) -> str:
    """Return the section title, such as `Servers: frames of 640×480, called at once, 2 threads, coef 10`."""
    about = run.about
    parts = []
    if about.get("width") and about.get("height"):
        parts.append(f"frames of {about['width']}×{about['height']}")
    sequential = about.get("sequential", about.get("in_turn"))  # earlier versions wrote `in_turn`
    if sequential is not None:
        parts.append("called one after another" if sequential else "called at once")
    if (many := about.get("threads") or 1) > 1:
        parts.append(f"{many} threads")
    if (coef := about.get("coef") or 1) != 1:
        parts.append(f"coef {coef:g}")
    return f"Servers: {', '.join(parts)}" if parts else "Servers"


def _works_ns(run: Run, found: Found) -> dict[Names, float]:
    """Return the requested work in nanoseconds by row name, or an empty dict if the requested work is unknown. The
    first row of the log describes all servers together."""
    ideal, works = run.about.get("ideal_ns"), run.about.get("works_ns")
    if ideal is None or not isinstance(works, list) or len(works) != len(found) - 1:
        return {}
    return dict(zip(found, (float(ideal), *map(float, works)), strict=True))


def _more(one: Row, work_ns: float | None) -> list[Value]:
    mean = one.latency("mean")
    beyond = None if work_ns is None or mean is None else mean - work_ns / 1000
    return [number(one.latency("std")), number(beyond), count(one["response_count"])]


def _details(run: Run) -> str:
    """Return the work of each server and the source file of the frames."""
    servers = [each for each in run.about.get("servers") or [] if isinstance(each, dict)]
    works = formatting.join([f"{each.get('name')} {each.get('work')}" for each in servers])
    pictures = run.text("pictures")
    return "; ".join(filter(None, (f"work: {works}" if works else "", f"frames of {pictures}" if pictures else "")))


def _warnings(run: Run) -> list[str]:
    about = run.about
    found = (
        f"{about.get('wrong')} replies differed from the frame that was sent." if about.get("wrong") else "",
        f"{about.get('lost')} requests had no reply." if about.get("lost") else "",
        f"The command ended with an error: {about['failure']}" if about.get("failure") else "",
        "The command was interrupted, so there are fewer frames than requested." if about.get("interrupted") else "",
    )
    return [each for each in found if each]


def _place(run: Run, found: Found) -> list[PlacedBox]:
    """Return the boxes from top to bottom: the box of all servers together, then a gap, then the box of each server."""
    placed: list[PlacedBox] = []
    for place, (names, known) in enumerate(found.items()):
        if each := box(known / 1000, _lost(run, names)):
            one = _row(run, names, known)
            placed.append(ServerBox(one, each, names[0], names[1] or ALL, place + (0.5 if place else 0.0)))
    return placed
