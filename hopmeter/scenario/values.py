"""Defines the types of the values in a scenario, with their validation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic_core import CoreSchema

from hopmeter.errors import RefusedValueError
from hopmeter.manifest.tables.allowed_words import LANGUAGES, AskedWait
from hopmeter.model import units
from hopmeter.model.columns import CELLS
from hopmeter.model.conditions import MOST_MESSAGES
from hopmeter.recordings.source import parse_recording
from hopmeter.scenario import patterns, requirement
from hopmeter.system.toml_files import nearest, one_of

Item = TypeVar("Item")
WAITS: tuple[str, ...] = get_args(AskedWait)
MOST_SEED = 2**63 - 1
MOST_SPIN_US = 1_000_000
LEARNED = "learned"
CORES = ("same", "cross", "sibling", "free", "numa")
CHOICES_OF_LANGUAGE = ("one", "each", "pairs")


class OneOrMore:
    """JSON Schema for a list that may also be written as a single value."""

    @staticmethod
    def __get_pydantic_json_schema__(core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        several = handler(core)
        return {"anyOf": [several["items"], {**several, "minItems": 1}]}


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


as_list = BeforeValidator(_as_list)


def _reject_empty(value: list[Item]) -> list[Item]:
    if not value:
        raise RefusedValueError("E-VALUE-FORM", "the list is empty; omit the key to use its default")
    return list(dict.fromkeys(value))


Axis = Annotated[list[Item], as_list, AfterValidator(_reject_empty), OneOrMore]


def check_language(value: str) -> str:
    """Return the value if it is a valid language choice. Raises ValueError, which lists the allowed words."""
    parts = value.split(">")
    if value not in CHOICES_OF_LANGUAGE and (len(parts) > 3 or any(part not in LANGUAGES for part in parts)):
        wrong = value if len(parts) == 1 else next((part for part in parts if part not in LANGUAGES), value)
        raise RefusedValueError(
            "E-VALUE-CHOICE",
            one_of(wrong, [*CHOICES_OF_LANGUAGE, *LANGUAGES, "rust>c++ (source>sink, or source>relays>sink)"]),
        )
    return value


def _one_language(value: str) -> str:
    if value not in LANGUAGES:
        raise RefusedValueError("E-VALUE-CHOICE", one_of(value, LANGUAGES))
    return value


def _wait(value: str) -> str:
    wrong = next((part for part in value.split("+") if part not in WAITS), None)
    if wrong is not None:
        raise RefusedValueError(
            "E-VALUE-CHOICE", one_of(wrong, [*WAITS, "one wait for each sink, joined by +, such as callback+block"])
        )
    return value


def _cores(value: str) -> str:
    if value not in CORES and not re.fullmatch(r"\d+(,\d+)*", value):
        raise RefusedValueError(
            "E-VALUE-CHOICE",
            one_of(value, [*CORES, "a list such as 0,1 (endpoint i takes core i modulo its length)"]),
        )
    return value


def _codec(value: str) -> str:
    if value == "none":
        return value
    from hopmeter.node.payloads.forms import codec_names  # imported lazily, because few scenarios need NumPy

    known = ["none", *codec_names()]
    if value not in known:
        raise RefusedValueError("E-VALUE-CHOICE", one_of(value, known))
    return value


def _until(value: str) -> str:
    if not re.fullmatch(patterns.UNTIL, value):
        raise RefusedValueError(
            "E-VALUE-CHOICE", one_of(value, ["order", "best", "require", "±5% (or another percentage)"])
        )
    return value.replace("+-", "±")


def _column(value: str) -> str:
    if value not in CELLS:
        raise RefusedValueError(
            "E-VALUE-CHOICE",
            f'"{value}" is not a column of cells.parquet (docs/metrics.md lists them){nearest(value, CELLS)}',
        )
    return value


class OfCells:
    """JSON Schema for the name of a cells.parquet column."""

    @staticmethod
    def __get_pydantic_json_schema__(core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "enum": list(CELLS)}


def _checked_by(parse: Any) -> Any:
    def check(value: str) -> str:
        parse(value)
        return value

    return AfterValidator(check)


def _editor_hint(pattern: str, examples: Sequence[str]) -> Any:
    """Return a field with hints for editors, which complete and reject values.

    The messages of hopmeter's own validation are more helpful than the messages of editors.
    """
    return Field(examples=list(examples), json_schema_extra={"pattern": pattern})


_ONE_WAIT = {"type": "string", "enum": list(WAITS)}
_WAIT_EACH = {"type": "string", "pattern": f"^({'|'.join(WAITS)})(\\+({'|'.join(WAITS)}))+$"}
WaitOrWaits = Annotated[str, AfterValidator(_wait), WithJsonSchema({"anyOf": [_ONE_WAIT, _WAIT_EACH]})]
Duration = Annotated[str, _checked_by(units.nanoseconds), _editor_hint(patterns.DURATION, ["30s", "500ms"])]
Span = Annotated[str, _checked_by(units.span_ns), _editor_hint(patterns.SPAN, ["30s", "500ms"])]
Language = Annotated[
    str,
    AfterValidator(check_language),
    _editor_hint(patterns.languages(CHOICES_OF_LANGUAGE, LANGUAGES), [*CHOICES_OF_LANGUAGE, *LANGUAGES]),
]
OneLanguage = Annotated[str, AfterValidator(_one_language), Field(examples=list(LANGUAGES))]
Cores = Annotated[str, AfterValidator(_cores), _editor_hint(patterns.cores(CORES), [*CORES, "0,1"])]
Payload = Annotated[
    str,
    _checked_by(units.payload_bytes),
    _editor_hint(
        patterns.PAYLOAD,
        [
            *("timing", "bytes:1000", "image:1440x1080", "file:one.jpg", "video:one.mp4", "array:200x200"),
            "message:robot-state",
        ],
    ),
]
Replay = Annotated[str, _checked_by(parse_recording), Field(examples=["drive.mcap:/lidar/points"])]
Work = Annotated[
    str,
    _checked_by(units.works),
    _editor_hint(patterns.WORK, ["none", "sleep:1ms", "spin:30us", "sleep:30ms/40ms/50ms", "copy:frame"]),
]
Share = Annotated[str, _checked_by(units.percent), _editor_hint(patterns.SHARE, ["50%", "100%"])]
Traffic = Annotated[str, _checked_by(units.bytes_per_second), _editor_hint(patterns.TRAFFIC, ["2GB/s", "500MB/s"])]
Until = Annotated[
    str, AfterValidator(_until), _editor_hint(patterns.whole(patterns.UNTIL), ["order", "best", "require", "±5%"])
]
Needed = Annotated[
    str, _checked_by(requirement.parse), _editor_hint(patterns.whole(requirement.FORM), requirement.EXAMPLES)
]
Count = Annotated[int, Field(ge=1, le=MOST_MESSAGES)]
Setting = bool | int | float | str


def _stretch(value: object) -> float | None:
    if value in (None, LEARNED):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_SPIN_US:
        return float(value)
    raise RefusedValueError(
        "E-VALUE-FORM", f'{value!r} is neither "{LEARNED}" nor a number of microseconds from 0 to {MOST_SPIN_US:,}'
    )


Stretch = Annotated[
    float | None,
    BeforeValidator(_stretch),
    WithJsonSchema({"anyOf": [{"const": LEARNED}, {"type": "number", "minimum": 0, "maximum": MOST_SPIN_US}]}),
]
Codec = Annotated[str, AfterValidator(_codec), Field(examples=["none", "numpy", "torch", "protobuf"])]
ColumnName = Annotated[str, AfterValidator(_column), OfCells]
Requirement = Annotated[
    str, _checked_by(requirement.parse), _editor_hint(f"^{requirement.FORM}$", requirement.EXAMPLES)
]
