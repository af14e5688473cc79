"""`hopmeter listen` and `publish`: objects of frameworks, drawn as their study draws them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hopmeter.report import codecs, formatting, shapes
from hopmeter.report.byhand import (
    CAPTION,
    HEADS,
    LOGS,
    ByHand,
    Delays,
    Figured,
    counted,
    delays,
    line,
    opened,
    row,
    side,
)
from hopmeter.report.drawing import Figure, Style
from hopmeter.report.figures import boxes
from hopmeter.report.source import Row, Run

NAMES = ("middleware", "plugin")
MEANS = {
    "listener": "from before its object was encoded to after it was decoded at the receiver",
    "publisher": "that encoding it and handing it over took the sender",
}
Outcome = dict[str, Any]


def read(folder: Path, number: int) -> ByHand:
    """The folder of one end."""
    run, end = opened(folder), side(folder)
    found = delays(folder / LOGS[end], NAMES)
    drawn = [(row(run, *names, "pubsub", known), known) for names, known in found.items()]
    run.rows = [one for one, _ in drawn]
    outcomes = _outcomes(run)
    lines = [line(pair, known, _counts(len(known), outcomes.get(pair))) for pair, known in found.items()]
    heads = (*HEADS, "Messages", *(("Lost", "Wrong") if outcomes else ()))
    figures = [one for one in [_figure(run, drawn, end, number)] if one]
    means = f"Of each message the time {MEANS[end]}."
    names = ("Middleware", "Plugin")
    return ByHand(run, _title(run, end), "", means, names, heads, lines, figures, _notes(outcomes))


def _title(run: Run, end: str) -> str:
    """`Listener: object 200×200 at 100 Hz`."""
    width, height, rate = (run.about.get(name) for name in ("width", "height", "rate"))
    conditions = f": object {width}×{height} at {formatting.rate(rate)}" if width and height and rate else ""
    return f"{end.capitalize()}{conditions}"


def _outcomes(run: Run) -> dict[tuple[str, str], Outcome]:
    """What came of each pair; nothing in folders of an older hopmeter."""
    told = run.about.get("outcomes")
    known = [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []
    return {(str(each.get("middleware")), str(each.get("plugin"))): each for each in known}


def _counts(many: int, outcome: Outcome | None) -> tuple[Figured, ...]:
    """Messages, and where it is known how many were lost and wrong."""
    if outcome is None:
        return (counted(many),)
    sent, received = outcome.get("sent"), outcome.get("received")
    lost = None if sent is None or received is None else max(0, sent - received)
    return counted(many), counted(lost), counted(outcome.get("wrong"))


def _notes(outcomes: dict[tuple[str, str], Outcome]) -> list[str]:
    """Once for each reason: what arrived wrong, failed or was not measured, and how true two clocks are."""
    reasons: dict[str, list[str]] = {}
    for (middleware, plugin), each in outcomes.items():
        wrong = (
            f"{formatting.plural(each['wrong'], 'message')} arrived with another content" if each.get("wrong") else ""
        )
        for text in filter(None, (wrong, each.get("reason"), each.get("clocks"))):
            reasons.setdefault(str(text), []).append(f"{plugin} over {middleware}")
    return [f"{formatting.listed(pairs)}: {reason}" for reason, pairs in reasons.items()]


def _figure(run: Run, found: Sequence[tuple[Row, Delays]], end: str, number: int) -> Figure | None:
    boxed = [(one, box) for one, known in found if (box := shapes.boxed(known / 1000))]
    if not boxed:
        return None
    placed = codecs.arranged(boxed)
    told = ", ".join(f"{each.name} {formatting.microseconds(each.box.p50)}" for each in placed)
    caption = f"Of each message the time {MEANS[end]}. {CAPTION}"
    chart = boxes.chart(placed, Style.of([run]))
    return Figure(f"across-by-hand-{number}", "Plugin by plugin", caption, chart, f"Medians: {told}")
