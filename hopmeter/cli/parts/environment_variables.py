"""DURATION, RATE, WIDTH and HEIGHT in the environment: the image study's way of asking, honoured by `hopmeter run`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hopmeter.cli.parts.options import listed
from hopmeter.errors import UsageError

LEAST, MOST = 1e-3, 1e9
"""Seconds or Hz; what is beyond is a slip."""
LARGEST = 100_000
"""Pixels of a side; what is beyond is a slip."""


@dataclass
class Asked:
    """What the environment asks for."""

    given: dict[str, Any] = field(default_factory=dict)
    """As options of the command line would give it."""
    used: list[str] = field(default_factory=list)
    """`DURATION=5 is --duration 5s`."""
    passed_over: list[str] = field(default_factory=list)
    """`RATE=30 (--rate was given)`."""
    options: list[str] = field(default_factory=list)
    """The same as words of a command, so that the run can be repeated without the environment."""

    def lines(self) -> list[str]:
        """What to tell the user; nothing where the environment is silent."""
        lines = [f"from the environment: {', '.join(self.used)}"] if self.used else []
        return lines + ([f"not from the environment: {', '.join(self.passed_over)}"] if self.passed_over else [])


def asked(environment: Mapping[str, str], given: Mapping[str, Any], settled: Mapping[str, str] | None = None) -> Asked:
    """What the variables ask for, less what the command line says itself (`given`), and less what is `settled` by the
    scenario, by option and with the reason: neither is even looked at.

    Raises UsageError where a value is no number or makes no sense, naming the variable.
    """
    found = Asked()
    for ask in ASKS:
        values = {name: environment[name].strip() for name in ask.names if environment.get(name, "").strip()}
        said = " ".join(f"{name}={value}" for name, value in values.items())
        first = next((option for option in ask.yields_to if option in given), "")
        why = f"--{first} was given" if first else (settled or {}).get(ask.option, "")
        if values and why:
            found.passed_over.append(f"{said} ({why})")
        elif values:
            word = ask.word(values)
            found.given |= _as_given(ask.option, word)
            found.used.append(f"{said} is --{ask.option} {word}")
            found.options += [f"--{ask.option}", word]
    return found


def _as_given(option: str, word: str) -> dict[str, Any]:
    """As `options.given` holds it: an axis is a list, a length is not."""
    return {option: word if option == "duration" else listed(option, word)}


def _duration(values: Mapping[str, str]) -> str:
    return f"{_positive('DURATION', values['DURATION'], 'seconds'):.12g}s"


def _rate(values: Mapping[str, str]) -> str:
    return f"{_positive('RATE', values['RATE'], 'messages a second'):.12g}"


def _image(values: Mapping[str, str]) -> str:
    for name, other in (("WIDTH", "HEIGHT"), ("HEIGHT", "WIDTH")):
        if name not in values:
            raise UsageError(
                f"{other}={values[other]} is in the environment and {name} is not",
                f"set both for an image, or unset {other}; --payload goes before both",
            )
    return f"image:{_side('WIDTH', values['WIDTH'])}x{_side('HEIGHT', values['HEIGHT'])}"


def _positive(name: str, text: str, unit: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not LEAST <= number <= MOST:
        raise _wrong(name, text, f"a number of {unit} from {LEAST:g} to {MOST:g}")
    return number


def _side(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= LARGEST):
        raise _wrong(name, text, f"a whole number of pixels from 1 to {LARGEST}")
    return int(text)


def _wrong(name: str, text: str, wanted: str) -> UsageError:
    option = {"DURATION": "duration", "RATE": "rate"}.get(name, "payload")
    return UsageError(
        f'{name}="{text}" in the environment is not {wanted}',
        f"mend or unset {name}, or give --{option}, which goes before it",
    )


@dataclass(frozen=True)
class _Ask:
    """Variables that together stand for an option, and the options that go before them."""

    names: tuple[str, ...]
    option: str
    yields_to: tuple[str, ...]
    word: Callable[[Mapping[str, str]], str]


ASKS = (
    _Ask(("DURATION",), "duration", ("duration", "messages"), _duration),
    _Ask(("RATE",), "rate", ("rate",), _rate),
    _Ask(("WIDTH", "HEIGHT"), "payload", ("payload",), _image),
)
