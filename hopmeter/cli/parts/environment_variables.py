"""Use the environment variables DURATION, RATE, WIDTH and HEIGHT of the image study as options of `hopmeter run`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hopmeter.api.options import parse_axis
from hopmeter.errors import UsageError

LEAST, MOST = 1e-3, 1e9
"""The smallest and largest allowed number of seconds or Hz. Values outside this range are treated as mistakes."""
LARGEST = 100_000
"""The largest allowed width or height in pixels, beyond which a value is treated as a mistake."""


@dataclass
class Variables:
    """Options from environment variables, and the names of used and ignored variables."""

    given: dict[str, Any] = field(default_factory=dict)
    """The option values in command-line format."""
    used: list[str] = field(default_factory=list)
    """A phrase for each used variable, such as `DURATION=5 as --duration 5s`."""
    ignored: list[str] = field(default_factory=list)
    """A phrase for each ignored variable, such as `RATE=30 (--rate was given)`."""
    options: list[str] = field(default_factory=list)
    """Command-line arguments that repeat the run without the environment variables."""

    def lines(self) -> list[str]:
        """Return lines of text about the used and the ignored variables, or an empty list if no variable is set."""
        lines = [f"environment variables used: {', '.join(self.used)}"] if self.used else []
        return lines + ([f"environment variables ignored: {', '.join(self.ignored)}"] if self.ignored else [])


def read_variables(
    environment: Mapping[str, str], given: Mapping[str, Any], fixed: Mapping[str, str] | None = None
) -> Variables:
    """Return the options that the environment variables set.

    Options in `given` (from the command line) and `fixed` (from the scenario) take precedence. Raises UsageError if a
    value is not a number or is out of range.
    """
    found = Variables()
    for rule in RULES:
        values = {name: environment[name].strip() for name in rule.names if environment.get(name, "").strip()}
        words = " ".join(f"{name}={value}" for name, value in values.items())
        first = next((option for option in rule.yields_to if option in given), "")
        why = f"--{first} was given" if first else (fixed or {}).get(rule.option, "")
        if values and why:
            found.ignored.append(f"{words} ({why})")
        elif values:
            word = rule.word(values)
            found.given |= _option_value(rule.option, word)
            found.used.append(f"{words} as --{rule.option} {word}")
            found.options += [f"--{rule.option}", word]
    return found


def _option_value(option: str, word: str) -> dict[str, Any]:
    """Return the option's value in the format of `scenario_options`: a string for the duration, and a list for any
    other option."""
    return {option: word if option == "duration" else parse_axis(option, word)}


def _duration(values: Mapping[str, str]) -> str:
    return f"{_positive('DURATION', values['DURATION'], 'seconds'):.12g}s"


def _rate(values: Mapping[str, str]) -> str:
    return f"{_positive('RATE', values['RATE'], 'messages per second'):.12g}"


def _image(values: Mapping[str, str]) -> str:
    for name, other in (("WIDTH", "HEIGHT"), ("HEIGHT", "WIDTH")):
        if name not in values:
            raise UsageError(
                "E-ENVIRONMENT",
                f"{other}={values[other]} is set in the environment, but {name} is not",
                f"set both for an image, or unset {other}; --payload overrides both",
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
        "E-ENVIRONMENT",
        f'{name}="{text}" in the environment is not {wanted}',
        f"correct or unset {name}, or give --{option}, which overrides it",
    )


@dataclass(frozen=True)
class _Rule:
    """The variables that together set an option, and the command-line options that override them."""

    names: tuple[str, ...]
    option: str
    yields_to: tuple[str, ...]
    word: Callable[[Mapping[str, str]], str]


RULES = (
    _Rule(("DURATION",), "duration", ("duration", "messages"), _duration),
    _Rule(("RATE",), "rate", ("rate",), _rate),
    _Rule(("WIDTH", "HEIGHT"), "payload", ("payload",), _image),
)
