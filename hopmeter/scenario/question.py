"""Composes the question of a run whose options select cells that the scenario does not have.

The question is derived from the options instead of the scenario's title.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from hopmeter.model.condition_values import KEYS, PARAMETERS
from hopmeter.model.conditions import CONDITIONS, NOTHING
from hopmeter.model.paces import SCHEDULED
from hopmeter.model.payload_words import ARRAY, describe_payloads
from hopmeter.scenario.axis_words import format_values, name_transports, names, phrase
from hopmeter.scenario.model import Scenario
from hopmeter.scenario.resolve import DEFAULTS, Ask, asks
from hopmeter.system.humanize import byte_size, first, join, plural

FIRST = ("transport", "payload", "rate", "language")
"""The conditions that the beginning of the question covers. The other conditions follow as phrases."""
MOST_SETTINGS = 2
"""The maximum number of settings of the old side that a question lists."""
MOST_VALUES = 3
"""The maximum number of payloads, sizes or rates that a question lists."""
BYTES = "bytes:"
WITH = "with "
RESTART = "restart "
UNSAID = tuple(each.key for each in CONDITIONS if not each.asks_default)
"""The conditions that a question does not mention if they have their default."""
PACED = tuple([name] for name in SCHEDULED)
CALLS = (["rpc"], ["scatter"])


def has_own_question(given: Mapping[str, Any], settings: Sequence[str]) -> bool:
    """Return whether the options select other cells than the scenario does, so that the scenario's question does not
    apply."""
    return bool(settings) or any(name in DEFAULTS or name == "require" for name in given)


def question(scenario: Scenario, given: Mapping[str, Any], settings: Sequence[str], against: str | None = None) -> str:
    """Return the question, such as `Which of zeromq and nng is faster for a message of 1 kB at 100 Hz in Python?`.

    For a run with two sides, the question is whether a transport became faster or slower.
    """
    who = name_transports(given.get("transport", []))
    what = _than(who, against) if against else _who(scenario, who)
    about = f"“{scenario.title}”" if scenario.flow else _messages(scenario)
    where = phrase("language", given.get("language", ["one"]))
    conditions = _merge([*_axes(scenario, given), *_settings(settings), *_requirements(given.get("require", []))])
    return f"{' '.join(filter(None, [what, 'for', about, where]))}{''.join(f', {each}' for each in conditions)}?"


def _axes(scenario: Scenario, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield a phrase for each given condition that the beginning of the question does not cover."""
    several = asks(scenario)
    is_call = not scenario.flow and _calls(several)
    left_out = {*FIRST, *(["pattern"] if is_call else []), *(["pace"] if _has_parameter(given) else [])}
    left_out |= {"codec"} if _is_in_noun(several) else set()
    left_out |= {"restart"} if _event(scenario) else set()
    left_out |= {name for name in UNSAID if given.get(name) == DEFAULTS[name]}
    for name in given:
        if name in DEFAULTS and name not in left_out and (words := phrase(name, given[name])):
            yield words.replace("receiver", "server") if is_call else words


def _has_parameter(given: Mapping[str, Any]) -> bool:
    """Return whether an option gives a pace's parameter. The phrase for a pace's parameter also names the pace."""
    return any(each.key in given for each in PARAMETERS)


def _is_in_noun(several: Sequence[Ask]) -> bool:
    """Return whether the payload's name already implies the codec, as in `a NumPy array`."""
    return _array(several) != ARRAY and all(
        payload.startswith("array:") for ask in several for payload in ask.axes["payload"]
    )


def _who(scenario: Scenario, who: Sequence[str]) -> str:
    """Return what the run asks about the transports, such as `Which of zeromq and nng is faster`."""
    if scenario.search:
        return _which(who, "What is the highest rate of {}", "has the highest rate", "has the highest rate")
    if event := _event(scenario):
        one, two, more = "How soon does {} recover", "recovers sooner", "recovers soonest"
        return f"{_which(who, one, two, more)} from {event},"
    return _which(who, "How fast is {}", "is faster", "is fastest")


def _which(who: Sequence[str], one: str, two: str, more: str) -> str:
    """Return the question with its verb for one, two or more transports. An empty list means all transports."""
    if len(who) == 1:
        return one.format(who[0])
    which = f"Which of {names(who, 'other transport')}" if who else "Which transport"
    return f"{which} {two if len(who) == 2 else more}"


def _event(scenario: Scenario) -> str:
    """Return what the transports recover from, such as `a restart of the broker`. Return an empty string if nothing is
    restarted in some trials."""
    restarts = [] if scenario.flow else [value for ask in asks(scenario) for value in ask.axes["restart"]]
    if not restarts or NOTHING in restarts:
        return ""
    targets = [KEYS["restart"].title_words(value).removeprefix(RESTART) for value in dict.fromkeys(restarts)]
    return f"a {RESTART}{join(targets, 'or')}"


def _than(who: Sequence[str], against: str) -> str:
    """Return a comparison, such as `Is zeromq faster or slower than with hwm=10`."""
    subject = f"{'Is' if len(who) == 1 else 'Are'} {names(who, 'other transport')}" if who else "Are the transports"
    return f"{subject} faster or slower than {_old_side(against)}"


def _old_side(against: str) -> str:
    settings = against.removeprefix("set:").split(",") if against.startswith("set:") else []
    if settings:
        return f"with {join(settings)}" if len(settings) <= MOST_SETTINGS else "with the other settings"
    library, at, version = against.partition("@")
    return f"with {library} {version}" if at else f"at the revision {against}"


def _calls(several: Sequence[Ask]) -> bool:
    return all(ask.axes["pattern"] in CALLS for ask in several)


def _messages(scenario: Scenario) -> str:
    """Return the payloads with their rates, such as `a small message at 1,000 Hz and an image of 640×480 at 30 Hz`."""
    found: dict[str, list[float]] = {}
    several = asks(scenario)
    for ask in several:
        rates = ask.axes["rate"] if ask.axes["pace"] in PACED and not scenario.search else []
        for payload in ask.axes["payload"]:
            found.setdefault(payload, []).extend(rates)
    alike = groupby(found, key=lambda payload: list(dict.fromkeys(found[payload])))
    words = [f"{join(_payloads(list(payloads), several))}{_rates(rates)}" for rates, payloads in alike]
    return f"{'calls with ' if _calls(several) else ''}{join(words)}"


def _rates(rates: Sequence[float]) -> str:
    """Return ` at 10 and 100 Hz`, or for many rates ` at 5 rates from 10 to 10,000 Hz`."""
    if not rates:
        return ""
    several = f"{len(rates)} rates from " if len(rates) > MOST_VALUES else ""
    return f" at {several}{format_values([f'{rate:,.12g}' for rate in sorted(rates)], MOST_VALUES)} Hz"


def _payloads(payloads: Sequence[str], several: Sequence[Ask]) -> list[str]:
    """Return the descriptions of payloads. Several sizes of `bytes` share one description."""
    sizes = sorted({int(each.removeprefix(BYTES)) for each in payloads if each.startswith(BYTES)})
    others = [each for each in payloads if len(sizes) < 2 or not each.startswith(BYTES)]
    described = describe_payloads(others, _array(several))
    words = [*described, *([_sizes(sizes)] if len(sizes) > 1 else [])]
    return words if len(words) <= MOST_VALUES else first(words, MOST_VALUES - 1, "other payload")


def _sizes(sizes: Sequence[int]) -> str:
    """Return `messages of 10 B, 1 kB and 100 kB`, or for many sizes `messages of 7 sizes from 10 B to 10 MB`."""
    several = f"{plural(len(sizes), 'size')} from " if len(sizes) > MOST_VALUES else ""
    return f"messages of {several}{format_values([byte_size(each) for each in sizes], MOST_VALUES)}"


def _array(several: Sequence[Ask]) -> str:
    """Return the name of an array in the run's only codec, such as `a NumPy array`, or a general name if there are
    several codecs."""
    codecs = {codec for ask in several for codec in ask.axes["codec"]}
    if len(codecs) != 1 or "none" in codecs:
        return ARRAY
    from hopmeter.node.payloads.forms import forms  # imported here, because the module needs NumPy

    form = forms().get(codecs.pop())
    return form.noun if form else ARRAY


def _settings(settings: Sequence[str]) -> Iterator[str]:
    """Yield a phrase for each setting, such as `with hwm=1 or 5` for `hwm=1,5`."""
    for text in settings:
        name, equals, values = text.partition("=")
        yield f"with {name}{equals}{join(values.split(','), 'or')}"


def _requirements(require: Sequence[str]) -> Iterator[str]:
    if require:
        yield f"with the requirement{'s' if len(require) > 1 else ''} {join(require)}"


def _merge(phrases: Sequence[str]) -> list[str]:
    """Merge adjacent phrases that begin with `with`, as in `with 2 pairs at once and hwm=1`.

    Phrases that contain a list are not merged.
    """
    merged: list[str] = []
    for is_plain, alike in groupby(phrases, key=lambda words: words.startswith(WITH) and " and " not in words):
        words = list(alike)
        merged += [WITH + join([each.removeprefix(WITH) for each in words])] if is_plain else words
    return merged
