"""Reads TOML files into models, and reports errors with the file, the key and the allowed values."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from hopmeter.errors import UsageError
from hopmeter.messages import split_code, tag
from hopmeter.system.input_files import read_short_text
from hopmeter.system.toml_lines import key_in, line_of

Model = TypeVar("Model", bound=BaseModel)
RANGES = ("greater_than", "less_than", "too_", "finite_number")
"""The prefixes of pydantic's error names for values out of range."""
MOST_BYTES = 1 << 20
"""The maximum size of a scenario or manifest in bytes. hopmeter's own files have a few thousand bytes."""


def read(path: Path) -> dict[str, Any]:
    """Return the table of a TOML file. Raises UsageError if the file is missing or is not TOML."""
    return read_with_text(path)[0]


SUFFIX = ".toml"


def complete_name(path: Path) -> Path:
    """Return the path of the TOML file that a name refers to. The suffix `.toml` is added if only the file with this
    suffix exists."""
    written = path.with_name(f"{path.name}{SUFFIX}") if path.name else path
    return written if written.is_file() and not path.is_file() else path


def read_with_text(path: Path) -> tuple[dict[str, Any], str]:
    """Return the table and the text of a TOML file. Raises UsageError if the file is missing or is not TOML."""
    try:
        text = read_short_text(path, MOST_BYTES)
        return tomllib.loads(text), text
    except OSError as cause:
        raise UsageError("E-FILE-UNREADABLE", f"{path} cannot be read: {cause.strerror}", "check the path") from cause
    except RecursionError as cause:
        raise UsageError(
            "E-TOML-SYNTAX", f"{path} has more nested levels than hopmeter reads", "write flat tables"
        ) from cause
    except ValueError as cause:
        raise UsageError(
            "E-TOML-SYNTAX", f"{path} is not valid TOML: {cause}", "correct the line that the message names"
        ) from cause


def validate(model: type[Model], table: Mapping[str, Any], source: str, text: str = "") -> Model:
    """Convert a table to a model.

    Raises a UsageError that lists all errors, with line numbers if `text` contains the file's text.
    """
    try:
        return model.model_validate(table)
    except ValidationError as cause:
        found = [_with_line(error, model, text) for error in cause.errors()]
        if len(codes := {code for code, _ in found}) == 1:
            lines, code = [what for _, what in found], codes.pop()
        else:
            lines, code = [tag(code, what) for code, what in found], "E-MISTAKES"
        raise UsageError(code, "\n".join(dict.fromkeys(f"{source}:{line}" for line in lines))) from cause


def one_of(word: object, allowed: Iterable[object]) -> str:
    """Return a complaint such as `"bock" is not one of spin, block, callback; did you mean "block"?`."""
    words = [str(each) for each in allowed]
    return f'"{word}" is not one of {", ".join(words)}{nearest(str(word), words)}'


def nearest(word: str, allowed: Iterable[str]) -> str:
    """Return the question "did you mean …?" for a mistyped word, or an empty string if no allowed word is similar."""
    close = [f'"{each}"' for each in difflib.get_close_matches(word, list(allowed), n=2, cutoff=0.6)]
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _complaint(error: ErrorDetails, model: type[BaseModel]) -> tuple[str, str]:
    """Return the code and the text of a validation error."""
    key = re.sub(r"(\.\d+)+$", "", ".".join(str(part) for part in error["loc"] if not _is_inner(part)))
    if error["type"] == "extra_forbidden":
        return "E-UNKNOWN-KEY", _unknown(error["loc"], model)
    if error["type"] == "missing":
        return "E-MISSING-KEY", f"{key} is missing"
    if error["type"] == "literal_error":
        allowed = re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected", "")))
        return "E-VALUE-CHOICE", f"{key}: {one_of(error['input'], allowed)}"
    # hopmeter's own validators produce complete sentences, but pydantic's messages do not contain the rejected value.
    said = str(error["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    what, code = split_code(said)
    value = "" if error["type"] == "value_error" else f" = {_format_value(error['input'])}"
    kind = "E-VALUE-RANGE" if error["type"].startswith(RANGES) else "E-VALUE-FORM"
    return code or kind, f"{key}{value}: {what}" if key else what


def _with_line(error: ErrorDetails, model: type[BaseModel], text: str) -> tuple[str, str]:
    """Return the code and the text of an error in a TOML file. The text begins with the line number, if the line is
    known."""
    code, what = _complaint(error, model)
    line = line_of(text, tuple(str(part) for part in error["loc"] if not _is_inner(part)) or key_in(what))
    return code, f"{line}: {what}" if line else f" {what}"


def _is_inner(part: int | str) -> bool:
    # The names of a union's branches are omitted, because they do not occur in the file.
    return isinstance(part, str) and ("[" in part or part in {"str", "int", "float", "bool", "list"})


def _format_value(value: object) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _unknown(where: tuple[int | str, ...], model: type[BaseModel]) -> str:
    *place, key = where
    known = _keys(model, tuple(place))
    within = f" in {'.'.join(map(str, place))}" if place else ""
    listed = f"; known are {', '.join(known)}" if known else ""
    return f'unknown key "{key}"{within}{nearest(str(key), known) or listed}'


def _keys(model: type[BaseModel], place: tuple[int | str, ...]) -> list[str]:
    """Return the keys that the model's annotations allow in the table at `place`."""
    current: Any = model
    for part in place:
        fields = getattr(current, "model_fields", {})
        if part in fields:
            current = _model_in(fields[str(part)].annotation)
    fields = getattr(current, "model_fields", {})
    return [field.alias or name for name, field in fields.items()]


def _model_in(annotation: Any) -> Any:
    """Return the model inside `dict[str, Model]`, `list[Model]` or `Model | None`, or None if the annotation contains
    no model."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(each) for each in getattr(annotation, "__args__", ()))
    return next((each for each in inner if each is not None), None)
