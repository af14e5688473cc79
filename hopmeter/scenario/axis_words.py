"""Formats the values of a scenario's conditions as phrases for its question, such as `over 3 relays`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from hopmeter.manifest.discovery import GROUPS
from hopmeter.model.condition_values import KEYS
from hopmeter.model.language_names import language_name
from hopmeter.system.humanize import first, join

MOST_NAMES = 2
"""The maximum number of transports, languages or codecs that a question names. Any further names are only counted."""
UNITS = {"m": "min"}
TIME = re.compile(r"(sleep|spin):(\d+(?:\.\d+)?)(ns|us|ms|s|m)")
COUNT = re.compile(r"\d+")
WAITS = {"spin": "spin", "block": "block", "callback": "are called back", "asyncio": "are called by asyncio"}
CHOICES_OF_LANGUAGE = {"each": "in each language", "pairs": "between all pairs of languages"}


def names(words: Sequence[str], one: str, more: str = "") -> str:
    """Join names, and replace the names beyond `MOST_NAMES` with their count: `shm and tcp`, or `shm, tcp and 3 other
    transports`."""
    return join(first(words, MOST_NAMES, one, more))


def phrase(axis: str, values: Sequence[Any]) -> str:
    """Return a condition's values as a phrase, or an empty string if the question need not mention them."""
    if special := WORDS.get(axis):
        return special(values)
    condition = KEYS[axis]
    words = [condition.question_words(each) for each in values]
    return condition.sentence.format(values=join(words) if condition.type is str else format_values(words))


def name_transports(values: Sequence[Any]) -> list[str]:
    """Return the names of the transports, or an empty list if the values contain a group such as `all`."""
    words = [str(each) for each in values]
    return [] if any(word in GROUPS for word in words) else words


def _languages(values: Sequence[Any]) -> str:
    if values == ["one"]:
        return ""
    choices = [CHOICES_OF_LANGUAGE[each] for each in values if each in CHOICES_OF_LANGUAGE]
    named = [language_name(each) for each in values if each not in (*CHOICES_OF_LANGUAGE, "one")]
    kind = "combination" if any(" to " in each for each in named[MOST_NAMES:]) else "language"
    return join([*first(_with_prepositions(named), MOST_NAMES, f"other {kind}"), *choices])


def _with_prepositions(named: Sequence[str]) -> list[str]:
    """Return the names with a preposition wherever the preposition changes: `in C++`, `Rust`, `from C++ to Python`."""
    prepositions = ["from" if " to " in each else "in" for each in named]
    before = ["", *prepositions]
    return [
        name if own == last else f"{own} {name}" for name, own, last in zip(named, prepositions, before, strict=False)
    ]


def _waits(values: Sequence[Any]) -> str:
    ways = [join([WAITS.get(each, each) for each in str(value).split("+")]) for value in values]
    return f"with receivers that {join(ways, 'or')}"


def _codecs(values: Sequence[Any]) -> str:
    if list(values) == ["none"]:
        return "without a codec"
    plain = " or without one" if "none" in values else ""
    named = [str(each) for each in values if each != "none"]
    return f"with the codec{'s' if len(named) > 1 else ''} {names(named, 'other')}{plain}"


def _counts(preposition: str, one: str, more: str, after: str = "") -> Callable[[Sequence[Any]], str]:
    """Return a function that formats counts: `over 1 relay`, `over 0, 1 and 20 relays`, `over 1 to 20 relays`."""

    def words(values: Sequence[Any]) -> str:
        noun = one if list(values) == [1] else more
        return f"{preposition} {format_values([str(each) for each in values])} {noun}{after}"

    return words


def _relays(values: Sequence[Any]) -> str:
    return "without relays" if list(values) == [0] else _counts("over", "relay", "relays")(values)


def _work(values: Sequence[Any]) -> str:
    if list(values) == ["none"]:
        return "without work"
    return f"with {join([_one_work(str(each)) for each in values], 'or')}"


def _one_work(value: str) -> str:
    """Return `1 ms of work` for `spin:1ms`. Return work that is not given as a time unchanged."""
    found = TIME.fullmatch(value)
    if found is None:
        return "no work" if value == "none" else f"work {value}"
    kind = " (sleeping)" if found[1] == "sleep" else ""
    return f"{found[2]} {UNITS.get(found[3], found[3]).replace('us', 'µs')} of work{kind}"


def format_values(values: Sequence[str], most: int = 3) -> str:
    """Return a list of values such as `1, 2 and 5`, or for more than `most` values a range such as `1 to 20`."""
    distinct = list(dict.fromkeys(values))
    return join(distinct) if len(distinct) <= most else f"{distinct[0]} to {distinct[-1]}"


WORDS: dict[str, Callable[[Sequence[Any]], str]] = {
    "language": _languages,
    "wait": _waits,
    "codec": _codecs,
    "relays": _relays,
    "sinks": _counts("to", "receiver", "receivers"),
    "pairs": _counts("with", "pair", "pairs", " at once"),
    "work": _work,
}
