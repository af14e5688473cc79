"""hopmeter chooses the same values in every run, for each kind of field."""

from __future__ import annotations

import json

import pytest

from hopmeter.build.messages import chosen_values as chosen
from hopmeter.build.messages import flat_values as values
from hopmeter.build.messages.descriptors import Types
from hopmeter.build.messages.flat_types import FlatTypes
from hopmeter.build.messages.proto_values import proto_values
from hopmeter.schemas.descriptors import parse_text


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
    assert parse_text('name: "a \\"b\\""\nname: "\\303\\274"\n') == {"name": ['a "b"', "ü"]}
    tree = parse_text('a {\n  name: "x{"\n  b {\n    n: 1\n    n: 2\n  }\n}\na {\n}\n')
    assert tree == {"a": [{"name": ["x{"], "b": [{"n": ["1", "2"]}]}, {}]}


def kind(base: int, index: int = -1, **more: int) -> dict[str, int]:
    return {"base_type": base, "index": index, **more}


def flat(**kinds: dict[str, int]) -> dict[str, object]:
    return flat_values([{"name": name, "type": each} for name, each in kinds.items()])


def flat_values(fields: list[dict[str, object]]) -> dict[str, object]:
    objects = [
        {"name": "Pose", "fields": [{"name": "x", "type": kind(values.DOUBLE)}]},
        {
            "name": "Node",
            "fields": [
                {"name": "next", "id": 1, "type": kind(values.OBJECT, 1)},
                {"name": "name", "type": kind(values.STRING)},
            ],
        },
        {"name": "State", "fields": fields},
        {"name": "Vector", "is_struct": True, "fields": [{"name": "y", "type": kind(values.FLOAT)}]},
    ]
    mode = {"name": "Mode", "values": [{"name": "Off"}, {"name": "On", "value": 1}]}
    none = {"name": "NONE", "union_type": {}}
    pose = {"name": "One", "value": 1, "union_type": kind(values.OBJECT, 0)}
    members = {"name": "Any", "is_union": True, "values": [none, pose]}
    return values.FlatValues(FlatTypes(objects, [mode, members]), 2).of("State")


POINT, NODES, UNION = kind(values.OBJECT, 0), kind(values.VECTOR, 1, element=values.OBJECT), kind(values.UNION, 1)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (kind(values.DOUBLE), 0.5),
        (kind(values.BOOL), True),
        (kind(values.STRING), "a 0"),
        (kind(values.UBYTE), 0),
        (kind(3), 1),
        (kind(values.UINT), 1000),
        (kind(values.LONG), chosen.STAMP_NS),
        (kind(values.VECTOR, element=values.FLOAT), [0.5, 1.5]),
        (kind(values.VECTOR, element=values.STRING), ["a 0", "a 1", "a 2"]),
        (kind(values.ARRAY, element=values.DOUBLE, fixed_length=4), [0.5, 1.5, 2.5, 3.5]),
        (kind(values.VECTOR, 0, element=values.OBJECT), [{"x": 0.5}, {"x": 1.5}, {"x": 2.5}]),
        (kind(values.VECTOR, 3, element=values.OBJECT), [{"y": 0.5}, {"y": 1.5}, {"y": 2.5}]),
        (kind(values.VECTOR, 0, element=values.UBYTE), ["On", "On"]),
        (kind(values.UBYTE, 0), "On"),
        (POINT, {"x": 0.5}),
        (kind(values.OBJECT, 1), {"name": "name 0"}),
        (NODES, [{"name": "name 0"}, {"name": "name 1"}, {"name": "name 2"}]),
    ],
)
def test_a_field_of_flatbuffers_has_a_value(given: dict[str, int], value: object) -> None:
    assert flat(a=given) == {"a": value}
    assert json.dumps(value)


def test_a_union_has_its_first_member_and_lists_of_unions_stay_empty() -> None:
    found = flat(any_type=kind(values.TYPE, 1), any=UNION, list=kind(values.VECTOR, 1, element=values.UNION))
    assert found == {"any_type": "One", "any": {"x": 0.5}}


@pytest.mark.parametrize(
    "more", [{"deprecated": True}, {"attributes": [{"key": "nested_flatbuffer", "value": "Pose"}]}]
)
def test_a_field_that_cannot_have_plain_values_stays_empty(more: dict[str, object]) -> None:
    assert flat_values([{"name": "a", "type": kind(values.VECTOR, element=values.UBYTE), **more}]) == {}


@pytest.mark.parametrize("bits", [8, 32, 64])
@pytest.mark.parametrize("signed", [True, False])
def test_integers_fit(bits: int, signed: bool) -> None:
    for at in range(1000):
        assert 0 < chosen.integer(at, bits, signed) < 1 << (bits - signed)
