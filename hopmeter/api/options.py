"""The options of a run, which override its scenario: `hopmeter run --rate 10,100`, `hopmeter.run(rate=[10, 100])`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.model.conditions import CONDITIONS
from hopmeter.model.old_names import KEYS, rename_old_names
from hopmeter.system.toml_files import one_of

NUMBERS: dict[str, Callable[[str], Any]] = {each.key: each.type for each in CONDITIONS if each.type is not str}
"""The numeric axes, with their types."""
KINDS = {float: "number", int: "whole number"}
ONLY_IN_FILES = {
    *("participant", "flow", "path", "background"),
    *("case", "checksum", "columns", "drain", "look", "patience", "question", "quick", "reply", "retry", "search"),
    *("settings", "spin_us", "timeout"),
}
"""Scenario keys that are not options of `hopmeter run`."""
CONFLICTS = (
    ("messages", "duration", "both set the length of a trial"),
    ("trials", "budget", "both set the number of trials"),
    ("trials", "until", "--trials fixes the number of trials, but --until may end the run earlier"),
)
"""Pairs of mutually exclusive options, each with the reason for the conflict."""
OF_COMPARISONS = ("fail_if", "summary", "junit", "export")
"""Options of `hopmeter run` that a Python program must pass to `hopmeter.compare`, not to `hopmeter.run`."""
HELP = "`hopmeter run --help` explains the options"


def option_names() -> list[str]:
    """Return the names of all options that override scenario values."""
    from hopmeter.scenario.model import Scenario  # imported here because other commands need no scenario

    return [name for name in Scenario.model_fields if name not in ONLY_IN_FILES]


def check_names(options: Mapping[str, Any]) -> None:
    """Raise UsageError for an unknown option."""
    known = option_names()
    for name in options:
        if name not in known and name not in KEYS:
            remedy = f"pass this option to `hopmeter.compare(run, {name}=…)`" if name in OF_COMPARISONS else HELP
            raise UsageError("E-UNKNOWN-OPTION", f"option {one_of(name, known)}", remedy)


def check_resume_alone(resume: Path, *others: object) -> None:
    """Raise UsageError if other options are combined with `resume`."""
    if any(others):
        raise UsageError(
            "E-OPTION-CONFLICT",
            "--resume continues a run as it was planned, so no other options are allowed",
            f"hopmeter run --resume {resume}",
        )


def scenario_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are also scenario keys, in the format of a scenario file. Raises UsageError if two
    options exclude each other."""
    from hopmeter.scenario.resolve import DEFAULTS

    options = rename_old_names(
        {name: value for name, value in options.items() if value is not None}, "the command line"
    )
    found = {name: options[name] for name in option_names() if name in options}
    for one, other, conflict in CONFLICTS:
        if one in found and other in found:
            raise UsageError(
                "E-OPTION-CONFLICT", f"--{one} and --{other}: {conflict}", "give only one of these options"
            )
    parsed = {name: parse_axis(name, value) if name in DEFAULTS else value for name, value in found.items()}
    return rename_old_names(parsed, "the command line")


def parse_axis(name: str, value: Any) -> list[Any]:
    """Return the values of an axis. For example, `10,100` becomes [10.0, 100.0].

    A core list such as `0,1` is a single value. A Python program may pass a number or a list instead of text. Raises
    UsageError if no value is given.
    """
    if name == "cores" and isinstance(value, str) and value[:1].isdigit():
        return [value]
    words = _split(value) if isinstance(value, str) else [*value] if isinstance(value, list | tuple) else [value]
    if not words:
        raise UsageError("E-OPTION-EMPTY", f"--{name} is empty", "omit the option to use the scenario's value")
    return [_parse(name, word) for word in words]


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def split_words(name: str, given: Sequence[str]) -> list[str]:
    """Return the individual words of an option. For example, `--language rust,c++ --language python` gives three words.
    Raises UsageError if the option has no words."""
    found = [word for each in given for word in _split(each)]
    if given and not found:
        raise UsageError("E-OPTION-EMPTY", f"--{name} is empty", "omit the option to use all")
    return found


def check_file(name: str, path: Path) -> Path:
    """Return the path of an output file. Raises UsageError if the path is a directory."""
    if path.is_dir():
        raise UsageError("E-OPTION-VALUE", f"--{name} {path} is a folder", "name a file in this folder")
    return path


def _parse(name: str, word: Any) -> Any:
    parse = NUMBERS.get(name, str)
    try:
        if parse is int and isinstance(word, float) and not word.is_integer():
            raise ValueError
        return parse(word)
    except (TypeError, ValueError) as cause:
        raise UsageError("E-OPTION-VALUE", f'--{name.replace("_", "-")}: "{word}" is not a {KINDS[parse]}') from cause  # type: ignore[index]
