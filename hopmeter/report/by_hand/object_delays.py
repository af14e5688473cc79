"""Report sections of `hopmeter listen` and `publish`, with a box plot of the delays of framework objects."""

from __future__ import annotations

from typing import Any

from hopmeter.analysis.results.distributions import box
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.by_hand.folder import LOGS, box_figure, count, delays, line, participant, row
from hopmeter.report.by_hand.folder import section as hand_section
from hopmeter.report.sections.section import Section
from hopmeter.report.tables.model import Value
from hopmeter.report.words import codec_rows, formatting

MEANING = {
    "listener": "The time of each message, from before encoding at the sender to after decoding at the receiver.",
    "publisher": "The time that the sender takes to encode each message and to pass it to the middleware.",
}
Outcome = dict[str, Any]
"""An entry of `by-hand.json` for one pair of middleware and plugin."""


def section(run: Run, number: int) -> Section:
    """Return the report section of a listener or publisher."""
    end = participant(run.folder)
    found = delays(run.folder / LOGS[end], ("middleware", "plugin"))
    outcomes = _outcomes(run)
    lost = {names: (_lost(outcomes.get(names)) or 0) if end == "listener" else 0 for names in found}
    run.rows = [row(run, *names, "pubsub", known, lost[names]) for names, known in found.items()]
    lines = [
        line(names, one, _counts(len(known), outcomes.get(names)))
        for (names, known), one in zip(found.items(), run.rows, strict=True)
    ]
    drawn = zip(run.rows, (box(known / 1000, lost[names]) for names, known in found.items()), strict=True)
    boxes = [(one, each) for one, each in drawn if each]
    placed = codec_rows.place_boxes(boxes)
    figure = box_figure(run, f"across-by-hand-{number}", "Latency of each plugin", MEANING[end], placed)
    heads = (("Middleware", "Plugin"), ("Messages", *(("Lost", "Wrong") if outcomes else ())))
    return hand_section(run, _title(run, end), "", MEANING[end], heads, lines, [figure], _warnings(outcomes))


def _title(run: Run, end: str) -> str:
    """Return the section title, such as `Listener: object 200×200 at 100 Hz`."""
    width, height, rate = (run.about.get(name) for name in ("width", "height", "rate"))
    conditions = f": object {width}×{height} at {formatting.rate(rate)}" if width and height and rate else ""
    return f"{end.capitalize()}{conditions}"


def _outcomes(run: Run) -> dict[tuple[str, str], Outcome]:
    """Return the problems recorded for each pair of middleware and plugin, such as lost messages and clock uncertainty.
    Return an empty dict if an earlier version of hopmeter wrote the directory."""
    recorded = run.about.get("outcomes")
    known = [each for each in recorded if isinstance(each, dict)] if isinstance(recorded, list) else []
    return {(str(each.get("middleware")), str(each.get("plugin"))): each for each in known}


def _counts(many: int, outcome: Outcome | None) -> list[Value]:
    """Return table cells with the number of messages and, if these numbers were recorded, the numbers of lost and wrong
    messages."""
    if outcome is None:
        return [count(many)]
    return [count(many), count(_lost(outcome)), count(outcome.get("wrong"))]


def _lost(outcome: Outcome | None) -> int | None:
    """Return the number of lost messages, or None if the number is unknown."""
    sent, received = (outcome.get(name) if outcome else None for name in ("sent", "received"))
    return max(0, sent - received) if isinstance(sent, int) and isinstance(received, int) else None


def _warnings(outcomes: dict[tuple[str, str], Outcome]) -> list[str]:
    """Return a note for each distinct problem or clock uncertainty, with the affected pairs of middleware and
    plugin."""
    reasons: dict[str, list[str]] = {}
    for (middleware, plugin), each in outcomes.items():
        wrong = f"{formatting.plural(each['wrong'], 'message')} arrived with wrong content" if each.get("wrong") else ""
        for text in filter(None, (wrong, each.get("reason"), each.get("clocks"))):
            reasons.setdefault(str(text), []).append(f"{plugin} over {middleware}")
    return [f"{formatting.join(pairs)}: {reason}" for reason, pairs in reasons.items()]
