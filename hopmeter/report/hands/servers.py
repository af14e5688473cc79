"""`hopmeter ask`: servers together and one by one, and what is above the work that they were asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hopmeter.report import formatting, shapes
from hopmeter.report.byhand import CAPTION, HEADS, LOGS, ByHand, Delays, Figured, counted, delays, line, opened, row
from hopmeter.report.codecs import Stand
from hopmeter.report.drawing import Figure, Style
from hopmeter.report.figures import boxes
from hopmeter.report.source import Run

NAMES = ("server", "transport")
ALL = "all of them"
"""In place of a transport, for all servers of a frame; a transport has no spaces in its name."""
TOOK = "Of each frame the time until its reply had come and was decoded, and until all had."
OVER = "The same less the work that was asked for: what sending, waking and waiting took."


@dataclass(frozen=True)
class Server(Stand):
    """One server, or all of them; the codec's place has its name."""

    @property
    def name(self) -> str:
        """`left over zeromq`, `all at once`."""
        return self.codec if self.series == ALL else super().name


Found = dict[tuple[str, str], Delays]


def read(folder: Path, number: int) -> ByHand:
    """The folder of one who asked."""
    run = opened(folder)
    found = delays(folder / LOGS["asker"], NAMES)
    works = _works_ns(run, found)
    run.rows = [row(run, transport or ALL, name, "scatter", known) for (name, transport), known in found.items()]
    lines = [line(names, known, _more(known, works.get(names))) for names, known in found.items()]
    over = {names: known - round(works[names]) for names, known in found.items() if names in works}
    drawn = [
        _figure(run, found, f"across-asked-{number}", "Server by server", TOOK),
        _figure(run, over if any(works.values()) else {}, f"across-asked-over-{number}", "Over the work", OVER),
    ]
    heads = (*HEADS, "Std, µs", "Over the work, µs", "Frames")
    figures = [one for one in drawn if one]
    means = f"{TOOK} Over the work: the mean less the work that was asked for."
    return ByHand(run, _title(run), _asked(run), means, ("Server", "Transport"), heads, lines, figures, _notes(run))


def _title(run: Run) -> str:
    """`Servers: frames of 640×480, asked at once by 2 threads, coef 10`."""
    about = run.about
    parts = []
    if about.get("width") and about.get("height"):
        parts.append(f"frames of {about['width']}×{about['height']}")
    if "in_turn" in about:
        parts.append("asked one after the other" if about["in_turn"] else "asked at once")
    if (many := about.get("threads") or 1) > 1:
        parts.append(f"{many} threads")
    if (coef := about.get("coef") or 1) != 1:
        parts.append(f"coef {coef:g}")
    return f"Servers: {', '.join(parts)}" if parts else "Servers"


def _works_ns(run: Run, found: Found) -> dict[tuple[str, str], float]:
    """What the work alone takes of each, where that is known: the first of the log are all servers together."""
    ideal, works = run.about.get("ideal_ns"), run.about.get("works_ns")
    if ideal is None or not isinstance(works, list) or len(works) != len(found) - 1:
        return {}
    return dict(zip(found, (float(ideal), *map(float, works)), strict=True))


def _more(known: Delays, work_ns: float | None) -> tuple[Figured, ...]:
    std = float(known.std(ddof=1)) / 1000 if len(known) > 1 else None
    over = None if work_ns is None else (float(known.mean()) - work_ns) / 1000
    return Figured(std, formatting.number(std)), Figured(over, formatting.number(over)), counted(len(known))


def _asked(run: Run) -> str:
    """What servers did for a frame, and where frames came from."""
    servers = [each for each in run.about.get("servers") or [] if isinstance(each, dict)]
    worked = formatting.listed([f"{each.get('name')} {each.get('work')}" for each in servers])
    shown = run.text("pictures")
    return "; ".join(filter(None, (f"work: {worked}" if worked else "", f"frames of {shown}" if shown else "")))


def _notes(run: Run) -> list[str]:
    about = run.about
    found = (
        f"{about.get('wrong')} replies were not the frame that was sent." if about.get("wrong") else "",
        f"It ended with: {about['failure']}" if about.get("failure") else "",
        "Interrupted: fewer frames than asked for." if about.get("interrupted") else "",
    )
    return [each for each in found if each]


def _figure(run: Run, found: Found, name: str, title: str, caption: str) -> Figure | None:
    placed = _placed(run, found)
    if not placed:
        return None
    told = ", ".join(f"{each.name} {formatting.microseconds(each.box.p50)}" for each in placed)
    chart = boxes.chart(placed, Style.of([run]))
    return Figure(name, title, f"{caption} {CAPTION}", chart, f"Medians: {told}")


def _placed(run: Run, found: Found) -> list[Server]:
    """All together, then the servers in their order; a bit apart."""
    stands: list[Server] = []
    for place, ((name, transport), known) in enumerate(found.items()):
        one = row(run, transport or ALL, name, "scatter", known)
        if box := shapes.boxed(known / 1000):
            stands.append(Server(one, box, name, transport or ALL, place + (0.5 if place else 0.0)))
    return stands
