"""Reads options of the command line; those of `hopmeter run` override a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.model.old_names import rename_old_names

NUMBERS: dict[str, Callable[[str], Any]] = {"rate": float, "relays": int, "sinks": int, "pairs": int, "burst": int}
"""Axes with numbers as values."""
KINDS = {float: "number", int: "whole number"}


def scenario_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options that a scenario also has, in the form of its file."""
    from hopmeter.scenario.model import Scenario  # only here: other commands have no scenario
    from hopmeter.scenario.resolve import DEFAULTS

    options = rename_old_names(
        {name: value for name, value in options.items() if value is not None}, "the command line"
    )
    found = {name: options[name] for name in Scenario.model_fields if name in options}
    if "messages" in found and "duration" in found:
        raise UsageError(
            "E-OPTION-CONFLICT", "--messages and --duration both set the length of a trial", "give one of them"
        )
    if "trials" in found and "budget" in found:
        raise UsageError("E-OPTION-CONFLICT", "--trials and --budget both set the number of trials", "give one of them")
    parsed = {name: parse_axis(name, value) if name in DEFAULTS else value for name, value in found.items()}
    return rename_old_names(parsed, "the command line")


def parse_axis(name: str, text: str) -> list[Any]:
    """`10,100` as [10.0, 100.0]; a list of cores such as `0,1` is one value."""
    if name == "cores" and text[:1].isdigit():
        return [text]
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UsageError("E-OPTION-EMPTY", f"--{name} is empty", "leave it out to use the scenario's value")
    return [_parse(name, word) for word in words]


def split_words(name: str, given: Sequence[str]) -> list[str]:
    """`--language rust,c++ --language python` as words; UsageError if it is given without a value."""
    found = [word.strip() for each in given for word in each.split(",") if word.strip()]
    if given and not found:
        raise UsageError("E-OPTION-EMPTY", f"--{name} is empty", "leave it out to use all")
    return found


def check_file(name: str, path: Path) -> Path:
    """Return the path of an output file; UsageError if it is a folder."""
    if path.is_dir():
        raise UsageError("E-OPTION-VALUE", f"--{name} {path} is a folder", "name a file in it")
    return path


def _parse(name: str, word: str) -> Any:
    parse = NUMBERS.get(name, str)
    try:
        return parse(word)
    except ValueError as cause:
        raise UsageError("E-OPTION-VALUE", f'--{name}: "{word}" is not a {KINDS[parse]}') from cause  # type: ignore[index]
