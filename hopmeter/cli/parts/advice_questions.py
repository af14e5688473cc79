"""The questions that `hopmeter advise` asks in a terminal. Each answer becomes the value of an option."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import typer

from hopmeter import manifest
from hopmeter.errors import HopmeterError, RefusedValueError
from hopmeter.model import units
from hopmeter.model.conditions import LEAST_HZ, MOST_HZ
from hopmeter.scenario.values import check_language
from hopmeter.system.terminal import Console
from hopmeter.system.toml_files import one_of

Parse = Callable[[str], Any]
SIZES = {"": 1, "b": 1, "kb": 1000, "mb": 10**6, "gb": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
KINDS = {"messages": "pubsub", "calls": "rpc"}
YES, NO = ("yes", "y"), ("no", "n")


@dataclass(frozen=True)
class Question:
    """A question, the option that it sets, its default answer, and the parser of its answers."""

    option: str
    text: str
    default: str
    parse: Parse


def parse_kind(answer: str) -> str:
    """Return the pattern for the answer `messages` or `calls`."""
    if answer not in KINDS:
        raise RefusedValueError("E-VALUE-CHOICE", one_of(answer, KINDS))
    return KINDS[answer]


def parse_size(answer: str) -> str:
    """Return the payload for an answer such as `200`, `64kB` or `640x480`."""
    if re.fullmatch(r"\d+x\d+", answer):
        return _check_payload(f"image:{answer}")
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([a-z]*)", answer.lower())
    if found is None or found[2] not in SIZES:
        return _check_payload(answer)
    return _check_payload(f"bytes:{round(float(found[1]) * SIZES[found[2]])}")


def _check_payload(payload: str) -> str:
    units.payload_bytes(payload)
    return payload


def parse_rate(answer: str) -> str:
    """Return the rate in Hz as text for an answer such as `100` or `100 Hz`."""
    try:
        value = float(answer.lower().removesuffix("hz"))
    except ValueError:
        raise RefusedValueError("E-VALUE-FORM", f'"{answer}" is not a number') from None
    if not LEAST_HZ <= value <= MOST_HZ:
        raise RefusedValueError("E-VALUE-RANGE", f"{answer} is not between {LEAST_HZ:g} and {MOST_HZ:g}")
    return f"{value:g}"


def parse_language(answer: str) -> str:
    """Return the value of `--language`. For `any`, hopmeter chooses the language."""
    return "one" if answer == "any" else check_language(answer)


def parse_receivers(answer: str) -> str:
    """Return the number of receivers as text."""
    if not answer.isdecimal() or not 1 <= int(answer) <= 1000:
        raise RefusedValueError("E-VALUE-RANGE", f'"{answer}" is not a number from 1 to 1000')
    return answer


def parse_loss(answer: str) -> list[str]:
    """Return the requirement that no message is lost, or an empty list if the answer is no."""
    if answer.lower() not in (*YES, *NO):
        raise RefusedValueError("E-VALUE-CHOICE", f'"{answer}" is neither yes nor no')
    return ["lost = 0"] if answer.lower() in YES else []


def parse_limit(answer: str) -> list[str]:
    """Return a requirement that limits p99 to the answer, or an empty list if the answer is no."""
    if answer.lower() in NO:
        return []
    units.span_ns(answer)
    return [f"p99 < {answer}"]


def parse_transport(answer: str) -> str | None:
    """Return the user's current transport, or None if the answer is `none`."""
    if answer == "none":
        return None
    manifest.find_transports([answer])
    return answer


QUESTIONS = (
    Question(
        "pattern",
        "Do your programs send messages, or make calls that return a reply (messages, calls)?",
        "messages",
        parse_kind,
    ),
    Question("payload", "How large is a message (200, 64kB, 2MB, or an image such as 640x480)?", "1kB", parse_size),
    Question("rate", "How many messages or calls per second?", "100", parse_rate),
    Question(
        "language", "In which language are your programs (rust, c++, python, rust>python, any)?", "any", parse_language
    ),
    Question("sinks", "How many programs receive each message?", "1", parse_receivers),
    Question("loss", "Must every message arrive (yes, no)?", "no", parse_loss),
    Question(
        "limit", "Within what time must 99 of 100 messages arrive (such as 5ms; no: no limit)?", "no", parse_limit
    ),
    Question("now", "Which transport do you use now (such as zeromq; none)?", "none", parse_transport),
)


def ask(console: Console, now: str | None, given: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Ask for the missing options. Return the user's current transport and all options."""
    answers = {**given, **({"now": now} if now else {})}
    for each in QUESTIONS:
        if _is_open(each.option, answers):
            answers[each.option] = _answer(console, each)
    required = [*answers.pop("loss", []), *answers.pop("limit", [])]
    used = answers.pop("now", None)
    return used, {**answers, **({"require": required} if required else {})}


def _is_open(option: str, answers: Mapping[str, Any]) -> bool:
    """Return whether a question still needs an answer. The number of receivers is asked only for messages, not for
    calls."""
    if option in ("loss", "limit"):
        return "require" not in answers
    return option not in answers and (option != "sinks" or answers.get("pattern") == "pubsub")


def _answer(console: Console, question: Question) -> Any:
    """Ask a question until the answer is valid, and return the parsed answer."""
    while True:
        said = typer.prompt(question.text, default=question.default, err=True)
        try:
            return question.parse(str(said).strip())
        except (RefusedValueError, HopmeterError) as refused:
            console.print(f"  {refused}", style="yellow", markup=False, soft_wrap=True)
