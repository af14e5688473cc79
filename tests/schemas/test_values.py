"""The values that hopmeter chooses: the same in every run, for each kind of field."""

from __future__ import annotations

import json

import pytest

from hopmeter.build.messages import chosen_values as chosen
from hopmeter.build.messages.descriptors import Types, parse_text
from hopmeter.build.messages.flat_values import FlatValues
from hopmeter.build.messages.proto_values import proto_values
from hopmeter.build.messages.rust import module_name, type_name


def field(name: str, kind: str, label: str = "OPTIONAL", type_name: str = "", oneof: int | None = None) -> str:
    more = (f'\ntype_name: "{type_name}"' if type_name else "") + ("" if oneof is None else f"\noneof_index: {oneof}")
    return f'field {{\nname: "{name}"\nlabel: LABEL_{label}\ntype: TYPE_{kind}{more}\n}}'


def types(*fields: str, more: str = "") -> Types:
    body = "\n".join(fields)
    text = f'file {{\nname: "s.proto"\npackage: "robot"\nmessage_type {{\nname: "State"\n{body}\n}}\n{more}\n}}\n'
    return Types(parse_text(text)["file"])


POSE = f'message_type {{\nname: "Pose"\n{field("x", "DOUBLE")}\n}}'
NODE = (
    f'message_type {{\nname: "Node"\n{field("name", "STRING")}\n{field("next", "MESSAGE", type_name=".robot.Node")}\n}}'
)
MODE = 'enum_type {\nname: "Mode"\nvalue {\nname: "OFF"\nnumber: 0\n}\nvalue {\nname: "ON"\nnumber: 1\n}\n}'


@pytest.mark.parametrize(
    ("given", "more", "text"),
    [
        (field("a", "DOUBLE"), "", "a: 0.5\n"),
        (field("a", "FLOAT", "REPEATED"), "", "a: [0.5, 1.5]\n"),
        (field("a", "INT64"), "", f"a: {chosen.STAMP_NS}\n"),
        (field("a", "SINT32", "REPEATED"), "", "a: [1000, 1001]\n"),
        (field("a", "BOOL"), "", "a: true\n"),
        (field("a", "STRING", "REPEATED"), "", 'a: ["a 0", "a 1", "a 2"]\n'),
        (field("a", "BYTES"), "", 'a: "\\000\\001"\n'),
        (field("a", "ENUM", type_name=".robot.Mode"), MODE, "a: ON\n"),
        (field("a", "MESSAGE", type_name=".robot.Pose"), POSE, "a {\n  x: 0.5\n}\n"),
        (
            field("a", "MESSAGE", "REPEATED", ".robot.Pose"),
            POSE,
            "".join(f"a {{\n  x: {at}.5\n}}\n" for at in range(3)),
        ),
        (field("a", "MESSAGE", type_name=".robot.Node"), NODE, 'a {\n  name: "name 0"\n}\n'),
        (field("a", "DOUBLE", oneof=0) + "\n" + field("b", "DOUBLE", oneof=0), "", "a: 0.5\n"),
        (field("a", "DOUBLE", oneof=0) + "\n" + field("b", "DOUBLE", oneof=1), "", "a: 0.5\nb: 0.5\n"),
    ],
)
def test_a_field_of_protobuf_has_a_value(given: str, more: str, text: str) -> None:
    assert proto_values(types(given, more=more), "robot.State", 2) == text


def test_the_text_format_is_read_as_protoc_writes_it() -> None:
    tree = parse_text('a {\n  name: "x{"\n  b {\n    n: 1\n    n: 2\n  }\n}\na {\n}\n')
    assert tree == {"a": [{"name": ["x{"], "b": [{"n": ["1", "2"]}]}, {}]}


def flat(**fields: object) -> dict[str, object]:
    definitions = {
        "State": {"properties": fields},
        "Pose": {"properties": {"x": {"type": "number"}}},
        "Node": {"properties": {"name": {"type": "string"}, "next": {"$ref": "#/definitions/Node"}}},
        "Mode": {"type": "string", "enum": ["Off", "On"]},
        "Any": {"type": "string", "enum": ["NONE", "Pose", "Node"]},
    }
    return FlatValues({"definitions": definitions}, 2).of("State")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ({"type": "number"}, 0.5),
        ({"type": "boolean"}, True),
        ({"type": "string"}, "a 0"),
        ({"type": "integer", "minimum": 0, "maximum": 255}, 0),
        ({"type": "integer", "minimum": -128, "maximum": 127}, 1),
        ({"type": "integer", "minimum": 0, "maximum": 4294967295}, 1000),
        ({"type": "integer", "minimum": -9223372036854775808, "maximum": 9223372036854775807}, chosen.STAMP_NS),
        ({"type": "array", "items": {"type": "number"}}, [0.5, 1.5]),
        ({"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}, [0.5, 1.5, 2.5, 3.5]),
        ({"type": "array", "items": {"$ref": "#/definitions/Pose"}}, [{"x": 0.5}, {"x": 1.5}, {"x": 2.5}]),
        ({"type": "array", "items": {"$ref": "#/definitions/Mode"}}, ["On", "On"]),
        ({"$ref": "#/definitions/Mode"}, "On"),
        ({"$ref": "#/definitions/Pose"}, {"x": 0.5}),
        ({"$ref": "#/definitions/Node"}, {"name": "name 0"}),
    ],
)
def test_a_field_of_flatbuffers_has_a_value(kind: object, value: object) -> None:
    assert flat(a=kind) == {"a": value}
    assert json.dumps(value)


def test_a_union_has_its_first_member_and_a_deprecated_field_none() -> None:
    union = {"anyOf": [{"$ref": "#/definitions/Pose"}, {"$ref": "#/definitions/Node"}]}
    given = {"any_type": {"$ref": "#/definitions/Any"}, "any": union, "old": {"type": "number", "deprecated": True}}
    assert flat(**given) == {"any_type": "Pose", "any": {"x": 0.5}}


@pytest.mark.parametrize(
    ("word", "type_of_it", "module"),
    [
        ("RobotState", "RobotState", "robot_state"),
        ("robot_state", "RobotState", "robot_state"),
        ("HTTPServer", "HttpServer", "http_server"),
        ("Pose2D", "Pose2D", "pose2_d"),
        ("state", "State", "state"),
    ],
)
def test_names_in_rust(word: str, type_of_it: str, module: str) -> None:
    assert (type_name(word), module_name(word)) == (type_of_it, module)


@pytest.mark.parametrize("bits", [8, 32, 64])
@pytest.mark.parametrize("signed", [True, False])
def test_integers_fit(bits: int, signed: bool) -> None:
    for at in range(1000):
        assert 0 < chosen.integer(at, bits, signed) < 1 << (bits - signed)
