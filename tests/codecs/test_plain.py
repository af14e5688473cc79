"""Tests for plain and nested Python objects."""

from __future__ import annotations

import enum
import math
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from carrying import addresses, carry, copy_frames

from hopmeter.codecs import CodecError, decode, encode, register


@register
@dataclass(frozen=True, slots=True)
class Pose:
    stamp: int
    position: Any
    notes: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.stamp < 0:
            raise ValueError("never run by decode")


@dataclass
class Stranger:
    a: int = 1


class Colour(enum.Enum):
    RED = 1


VALUES = [
    *(None, True, False, 0, -1, 2**63 - 1, -(2**63), 2**63, -(2**200), 0.1, -0.0, math.inf, -math.inf, 5e-324, 1e308),
    *(
        "",
        "plain",
        "ü\u2028\x00",
        "\ud800",
        "x" * 5000,
        "ü\ud800" * 4000,
        b"",
        b"bytes",
        bytearray(b"array"),
        2j,
        complex(-0.0, math.inf),
    ),
    *([], (), {}, set(), frozenset(), [1, [2, (3,)]], {1: {"a": None}, (1, 2): "b", None: 0}, {1, "a", None, (2.5, 3)}),
    *(frozenset({b"".hex(), 1}), range(3, 9, 2), slice(None, 5), {"b": 1, "a": 2}),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_plain_objects_come_back_equal_and_of_their_type(value: Any) -> None:
    back = carry(value)
    assert (type(back), repr(back)) == (type(value), repr(value)) or back == value
    assert type(back) is type(value)


def test_nan_stays_nan_and_order_stays_order() -> None:
    assert math.isnan(carry(math.nan))
    assert list(carry({"z": 1, "a": 2})) == ["z", "a"]


def test_a_memoryview_shares_the_frame() -> None:
    there = copy_frames(encode(memoryview(b"shared")))
    assert addresses([b"", decode(there)]) == addresses(there)


def test_arrays_inside_containers_share_memory_at_both_ends() -> None:
    left, right = np.arange(3), np.ones((2, 2), order="F")
    frames = encode({"left": left, "deep": [(right,)]})
    assert [start for start, _ in addresses(frames)] == [left.ctypes.data, right.ctypes.data]
    there = copy_frames(frames)
    back = decode(there)
    assert [back["left"].ctypes.data, back["deep"][0][0].ctypes.data] == [start for start, _ in addresses(there)]
    assert back["left"].tolist() == [0, 1, 2]


def test_a_registered_dataclass_comes_back_without_running_its_code() -> None:
    back = carry(Pose(5, np.arange(2.0), ["a"]))
    assert (back.stamp, back.position.tolist(), back.notes) == (5, [0.0, 1.0], ["a"])
    head, *rest = encode(Pose(5, 1))
    forged = head.replace(b'["stamp",5]', b'["stamp",-5]')
    size = (len(forged) - 16).to_bytes(4, "little")
    assert decode([forged[:12] + size + forged[16:], *rest]).stamp == -5


def test_a_dataclass_nobody_registered_is_refused_with_the_remedy() -> None:
    with pytest.raises(CodecError, match=r"Stranger.*codecs\.register.*E-DATACLASS-UNKNOWN"):
        carry(Stranger())


def test_a_dataclass_with_other_fields_is_refused() -> None:
    name = f"{Stranger.__module__}.Twin"
    register(Stranger, name)
    head = encode(Stranger())[0].replace(b".Stranger", b".Twin").replace(b'"a"', b'"b"')
    with pytest.raises(CodecError, match="E-DATACLASS-FIELDS"):
        decode([head[:12] + (len(head) - 16).to_bytes(4, "little") + head[16:]])


@pytest.mark.parametrize("value", [object(), Colour, len, Pose, type("L", (list,), {})([1]), iter([])], ids=range(6))
def test_what_has_no_form_on_the_wire_is_refused(value: Any) -> None:
    with pytest.raises(CodecError, match="E-NO-CODEC"):
        encode(value)


def test_headers_do_not_depend_on_the_run() -> None:
    program = "from hopmeter.codecs import encode; print(encode({'b': {'x', 'y', 'z', 1}, 'a': [1.5, None]})[0])"
    runs = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(runs) == 1


def test_no_framework_is_imported_before_an_object_of_it_turns_up() -> None:
    heavy = ["torch", "tensorflow", "jax", "paddle", "pandas", "polars", "pyarrow", "xarray", "PIL"]
    heavy += ["dask", "zarr", "pint", "cupy", "msgpack", "msgspec"]
    program = (
        "import sys, hopmeter.codecs as c, numpy as n; c.decode(c.encode([n.arange(3), {'a': 1}]));"
        f"[c.missing(name) for name in c.frameworks()]; print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"
