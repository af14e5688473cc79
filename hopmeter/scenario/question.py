"""Writes the question of a run whose options select other cells than the scenario does: from the options, not from the
title of the scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hopmeter.manifest.discovery import GROUPS
from hopmeter.scenario.model import Scenario
from hopmeter.scenario.resolve import DEFAULTS, Ask, asks

IN_SENTENCE = ("transport", "payload", "rate", "language")
"""Axes that the sentence describes in words; the other axes follow as `name value`."""
MOST_SETTINGS = 2
"""The most settings of the old side that a question lists."""
PAYLOADS = {"timing": "a small message", "image": "an image of", "video": "frames of", "file": "the file"}


def has_own_question(given: Mapping[str, Any], settings: Sequence[str]) -> bool:
    """Return whether the options select other cells than the scenario does, so that its question no longer fits."""
    return bool(settings) or any(name in DEFAULTS or name == "require" for name in given)


def question(scenario: Scenario, given: Mapping[str, Any], settings: Sequence[str], against: str | None = None) -> str:
    """Return `Which of zeromq and nng is fastest for a message of 1,000 bytes at 100 Hz, in python?`.

    With two sides the question is whether a transport became faster or slower.
    """
    what = _than(given, against) if against else _who(given)
    about = f"“{scenario.title}”" if scenario.flow else _join(_messages(asks(scenario)))
    parts = [f"{what} for {about}"]
    languages = _value_texts(given.get("language", []))
    parts += [f"in {_join(languages)}"] if languages and languages != ["one"] else []
    others = [name for name in given if name in DEFAULTS and name not in IN_SENTENCE]
    parts += [f"{name} {_join(_value_texts(given[name]), 'or')}" for name in others]
    parts += [text.replace(",", " or ") for text in settings]
    parts += [f"with {_join(given['require'])}"] if given.get("require") else []
    return f"{', '.join(parts)}?"


def _who(given: Mapping[str, Any]) -> str:
    names = _value_texts(given.get("transport", []))
    if not names or any(name in GROUPS for name in names):
        return "Which transport is fastest"
    return f"How fast is {names[0]}" if len(names) == 1 else f"Which of {_join(names)} is fastest"


def _than(given: Mapping[str, Any], against: str) -> str:
    """Return `Is zeromq faster or slower than with hwm=10`."""
    names = _value_texts(given.get("transport", []))
    many = not names or any(name in GROUPS for name in names)
    who = "Are the transports" if many else f"{'Is' if len(names) == 1 else 'Are'} {_join(names)}"
    return f"{who} faster or slower than {_old_side(against)}"


def _old_side(against: str) -> str:
    settings = against.removeprefix("set:").split(",") if against.startswith("set:") else []
    if settings:
        return f"with {_join(settings)}" if len(settings) <= MOST_SETTINGS else "with the other settings"
    library, at, version = against.partition("@")
    return f"with {library} {version}" if at else f"at the revision {against}"


def _messages(several: Sequence[Ask]) -> list[str]:
    """Return each payload with its rates: `a small message at 1,000 Hz`."""
    rates: dict[str, list[str]] = {}
    for ask in several:
        paced = [f"{rate:,.12g}" for rate in ask.axes["rate"]] if ask.axes["pace"] in (["open"], ["poisson"]) else []
        for payload in ask.axes["payload"]:
            rates.setdefault(_payload(payload), []).extend(paced)
    found = {name: list(dict.fromkeys(each)) for name, each in rates.items()}
    return [f"{name} at {_join(each)} Hz" if each else name for name, each in found.items()]


def _payload(word: str) -> str:
    kind, _, shape = word.partition(":")
    if kind == "bytes":
        return f"a message of {int(shape):,} bytes" if shape.isdecimal() else f"a message of {shape}"
    return " ".join(filter(None, (PAYLOADS.get(kind, f"an object: {kind}"), shape.replace("x", "×"))))


def _value_texts(values: Any) -> list[str]:
    return [f"{each:,.12g}" if isinstance(each, float) else str(each) for each in values]


def _join(words: Sequence[str], last: str = "and") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
