"""Corrupt or malicious frames raise one error type, execute no code and allocate little memory."""

from __future__ import annotations

import contextlib
import json
import pickle
import random
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopmeter.codecs import CodecError, decode, encode, lookup, reading
from hopmeter.codecs.header import PREFIX, pack


def header(node: Any, frames: int = 1) -> bytes:
    return pack(json.dumps(node), frames)


def array(dtype: Any = "<f8", shape: Any = (1,), order: Any = "C", framework: Any = "numpy") -> list[Any]:
    return ["array", framework, dtype, list(shape) if isinstance(shape, tuple) else shape, order, None]


def test_every_truncated_header_is_refused() -> None:
    head, data = encode(np.arange(3))
    for length in range(len(head)):
        with pytest.raises(CodecError):
            decode([head[:length], data])


@pytest.mark.parametrize("length", [0, 1, 23, 25, 48])
def test_a_frame_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(CodecError, match=r"24.*E-ARRAY-SHAPE|24.*E-FRAME-LENGTH"):
        decode([encode(np.arange(3))[0], bytes(length)])


@pytest.mark.parametrize("count", [0, 2, 3])
def test_too_few_or_too_many_frames_are_refused(count: int) -> None:
    with pytest.raises(CodecError, match="E-FRAME-COUNT"):
        decode([encode(np.arange(3))[0], *[bytes(24)] * count])


def test_no_frames_at_all_are_refused() -> None:
    for frames in ([], [b""], [None], [12], ["text"], [10**12, b""]):
        with pytest.raises(CodecError):
            decode(frames)


@pytest.mark.parametrize("version", [0, 2, 255])
def test_unknown_versions_are_refused_by_number(version: int) -> None:
    head, data = encode(np.arange(3))
    with pytest.raises(CodecError, match=rf"{version}.*E-VERSIONS-DIFFER"):
        decode([head[:4] + bytes([version]) + head[5:], data])


def test_unknown_flags_and_magic_are_refused() -> None:
    head, data = encode(np.arange(3))
    for place in (0, 5, 6, 7):
        with pytest.raises(CodecError):
            decode([head[:place] + b"\x09" + head[place + 1 :], data])


@pytest.mark.parametrize("counted", [0, 2, 2**32 - 1])
def test_a_header_that_announces_other_frames_than_it_describes_is_refused(counted: int) -> None:
    with pytest.raises(CodecError, match="E-FRAME-COUNT"):
        decode([header(array(), counted), bytes(8)])


LIES = [
    *(
        array(shape=shape)
        for shape in [(2**62,), (2**31, 2**31, 2**31), (-1,), (1.0,), (True,), (None,), ("1",), (10**30,)]
    ),
    *(array(shape=shape) for shape in [1, None, "ab", {}, (1,) * 65, (2**40, 0, 2**40), (0,), ((1,),)]),
    *(
        array(dtype=dtype)
        for dtype in ["O", "|O", "|O8", "object", "f8", "<f3", "<f8,<f8", "<i99999999999", "|V2147483648"]
    ),
    *(array(dtype=dtype) for dtype in [None, 3, [], {}, "", "<f8\n", "__import__('os')", "|S0", "<M8[999999999999ns]"]),
    *(
        array(dtype=["struct", size, fields])
        for size, fields in [(8, [["a", "|O8", 0, []]]), (8, 3), (-1, []), (8, [[]])]
    ),
    array(dtype=["struct", 8, [["a", "<f8", 4, []]]]),
    array(dtype=["struct", 8, [["a", "<f8", 0, [2**40, 2**40]]]]),
    array(dtype=["struct", 8, [["a", "<f8", 0, []], ["a", "<f8", 0, []]]]),
    array(dtype=["struct", 8, [[1, "<f8", 0, []]]]),
    *(array(order=order) for order in ["A", "K", None, 1, ["C"]]),
    *(array(framework=name) for name in ["os", "builtins", "", None, 3, "pickle", "../numpy", "plain"]),
    *(["array"], ["array", "numpy"], ["nothing"], [], {}, {"a": 1}, [["array"]], [1], [None]),
    *(
        ["numpy.scalar", array(shape=(1,))],
        ["numpy.scalar", 3],
        ["numpy.masked", 1, 2, 3],
        ["numpy.recarray", ["list", []]],
    ),
    *(["numpy.strings", [[2**60], ""], ["list", ["a"]]], ["numpy.strings", [[1], "os"], ["list", ["a"]]]),
    *(["dict", [[["list", []], 1]]], ["dict", 3], ["dict", [[1]]], ["list", 3], ["list", [["list"]]]),
    *(["int", "0x10"], ["int", "1_0"], ["int", 5], ["float", "1e5"], ["complex", "a", 1], ["range", ["list", ["a"]]]),
    *(
        ["datetime", written, 0, None, None]
        for written in ["2026-13-01T00:00:00", "20260101T000000", "now", "", 5, None]
    ),
    *(["datetime", written, 0, None, None] for written in ["10000-01-01T00:00:00", "2026-01-01T00:00:00+01:00"]),
    *(["datetime", "2026-01-01T00:00:00", fold, None, None] for fold in [2, -1, True, None, "0"]),
    *(["datetime", "2026-01-01T00:00:00", 0, None, offset] for offset in [0, "0", []]),
    *(
        ["datetime", "2026-01-01T00:00:00", 0, zone, None]
        for zone in [
            *([], 1, "UTC", ["zone"], ["zone", 5], ["zone", ""], ["zone", "../../etc/passwd"], ["zone", "/etc/passwd"]),
            *(
                ["zone", "localtime"],
                ["zone", "Europe"],
                ["zone", "a\0b"],
                ["zone", "Europe/../UTC"],
                ["zone", "x" * 99],
            ),
            *(["zone", "tzdata.zi"], ["zone", "UTC"], ["timezone", [1, 0, 0], None], ["timezone", [-1, 0, 0], None]),
            *(["timezone", [0, 86400, 0], None], ["timezone", [0, 0], None], ["timezone", [0, 0, 0], 5], ["list", []]),
        ]
    ),
    *(["datetime", "0001-01-01T00:00:00", 0, ["zone", "Europe/Berlin"], offset] for offset in [0, True, 3600, 10**30]),
    *(["date", written] for written in ["2026-02-30", "2026-W01-1", "0000-01-01", 1, None, ["2026"]]),
    *(["time", "25:00:00", 0, None], ["time", "T01:00", 0, None], ["time", "01:00:00", 2, None], ["time", "01:00:00"]),
    *(["timedelta", days, 0, 0] for days in [10**9, -(10**9), 1.0, True, "1", None, 10**30]),
    *(["timedelta", 0, 86400, 0], ["timedelta", 0, -1, 0], ["timedelta", 0, 0, 10**6], ["timedelta", 0]),
    *(["uuid", digits, "unknown"] for digits in ["", "0" * 31, "0" * 33, "{" + "0" * 32 + "}", "G" * 32, 5]),
    *(["uuid", "0" * 32, "odd"], ["uuid", "0" * 32, 0], ["uuid", "0" * 32]),
    *(["decimal", written] for written in ["", "x", " 1", "1_0", "+1", "1e5", "1E+9999999999999999999", "٣", "nan", 1]),
    *(["fraction", *parts] for parts in [("1", "0"), ("2", "4"), ("1", "-2"), ("01", "2"), ("1",), (1, 2), ("", "1")]),
    ["fraction", "1", "f" * 10**6],
    *(["path", kind, "a"] for kind in ["Path", "os", "WindowsPath", 1, None, []]),
    *(["path", "PosixPath", "a//b"], ["path", "PosixPath", 5], ["path", "PosixPath", ""]),
    *(["deque", [1, 2], 1], ["deque", [1], -1], ["deque", [1], True], ["deque", [1], 2**70], ["deque", 5, None]),
    *(["OrderedDict", [[["list", []], 1]]], ["Counter", 3], ["OrderedDict", [[1]]]),
    *(["enum", "os.system", "A", 1], ["enum", "signal.Signals", "SIGINT", 2], ["enum", 1, 2, 3], ["enum"]),
    *(["namedtuple", "collections.Point", []], ["namedtuple", "os.stat_result", [["st_mode", 1]]], ["namedtuple"]),
    *(["float", "7ff0000000000000"], ["float", "3ff0000000000000"], ["float", "7ff8"], ["float", None]),
    *(["memoryview", form, [1]] for form in ["O", "<d", "dd", "", 5, None, "@P" * 9, "Z"]),
    *(
        ["memoryview", "B", [2**62]],
        ["memoryview", "d", [1, -1]],
        ["memoryview", "B", [1] * 65],
        ["memoryview", "B", 5],
    ),
    *(array(dtype=["struct", 8, [["a", "<f8", 0, [], title]]]) for title in [5, "a", ["b"], {}]),
    *(array(dtype=["struct", 8, [["a", "<f8", 0, []]], more]) for more in ["odd", 5, None, ["aligned"]]),
    array(dtype=["struct", 9, [["a", "u1", 0, []], ["b", "<f8", 1, []]], "aligned"]),
    *(array(dtype=[tag, 8, [["a", "<f8", 0, []]]]) for tag in ["void", "int32", [], None, 5]),
    *(
        ["numpy.masked", array(), None, array(), "soft"],
        ["numpy.masked", array(), None],
        ["numpy.masked", None, None, None],
    ),
    *(["numpy.strings", [[1], "", "odd"], ["list", ["a"]]], ["numpy.strings", [[1]], ["list", ["a"]]]),
    *(["arrow.tensor", array(shape=(1,)), names] for names in [5, [5], None, ["a", "b"]]),
    *(
        ["pandas.timestamp", ["numpy.scalar", array("<M8[ns]", ())], zone]
        for zone in ["../x", "dateutil/x", 5, ["list", []]]
    ),
    *(["xarray.variable", [["tuple", ["x"]], ["dict", []], array(shape=(1,))], more] for more in ["odd", 5, None]),
    *(["zarr", ["list", [["list", [1]], ["dict", []], more]], array(shape=(1,))] for more in [5, ["dict", [["a", 1]]]]),
    *(
        ["zarr", ["list", [["list", [1]], ["dict", []], ["dict", [[name, value]]]]], array(shape=(1,))]
        for name, value in [("fill_value", 1), ("dimension_names", ["list", [5]]), ("dimension_names", ["list", []])]
    ),
    *(["dataclass", "os.system", [["command", "true"]]], ["dataclass", 1, []], ["dataclass", "subprocess.Popen", []]),
]


@pytest.mark.parametrize("node", LIES, ids=lambda node: json.dumps(node)[:60])
def test_lies_are_refused_without_memory_for_them(node: Any) -> None:
    tracemalloc.start()
    for frames in (0, 1):
        with pytest.raises(CodecError):
            decode([header(node, frames), *[bytes(8)] * frames])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000_000


TEXTS = [
    np.array(["ab", "c"]),
    np.array(["ab", "c"], ">U2"),
    np.asfortranarray(np.array([["ab", "c"], ["d", ""]])),
    np.array("ab"),
    np.array([(1, ["abc", "d"], ("e",))], [("x", "u1"), ("y", "<U3", (2,)), ("z", [("w", ">U1")])]),
]


@pytest.mark.parametrize("array", TEXTS, ids=lambda array: f"{array.dtype} {array.shape}"[:30])
@pytest.mark.parametrize("character", [0x110000, 0xFFFFFFFF])
def test_text_of_what_is_no_character_is_refused(array: Any, character: int) -> None:
    head, data = encode(array)
    assert str(decode([head, data])) == str(array)
    places = range(0, len(data) - 3, 4) if array.dtype.names is None else (1, 13, 25)
    for place in places:
        order: Any = "big" if array.dtype.byteorder == ">" or place == 25 else "little"
        forged = bytearray(data)
        forged[place : place + 4] = character.to_bytes(4, order)
        with pytest.raises(CodecError, match=r" 0x.*E-TEXT"):
            decode([head, forged])


def test_fields_of_text_that_overlap_are_refused_before_each_is_looked_at() -> None:
    fields = [[str(number), "<U2", 0, []] for number in range(3)]
    with pytest.raises(CodecError, match="E-FIELDS-OVERLAP"):
        decode([header(array(["struct", 16, fields])), bytes(16)])


def test_deep_nesting_is_refused_at_both_ends() -> None:
    for depth in (70, 5000, 200_000):
        body = '["list",[' * depth + "]]" * depth
        with pytest.raises(CodecError):
            decode([pack(body, 0)])
    nested: list[Any] = []
    for _ in range(70):
        nested = [nested]
    with pytest.raises(CodecError, match=r" 64.*E-NESTED"):
        encode(nested)


def test_an_object_that_holds_itself_is_refused() -> None:
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(CodecError, match=r"cycle.*E-NESTED"):
        encode(ring)


@pytest.mark.parametrize("body", ["", "nul", "NaN", "[1,", "\xff", '"\ud800', "1" * 5000, "Infinity"])
def test_a_body_that_is_no_json_is_refused(body: str) -> None:
    raw = body.encode("utf-8", "surrogatepass")
    with pytest.raises(CodecError):
        decode([PREFIX.pack(b"HOPC", 1, 0, 0, 0, len(raw)) + raw])


class Bomb:
    """An object whose unpickling leaves a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


def test_a_pickle_is_not_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    bomb = pickle.dumps(Bomb(trace))
    for frames in ([bomb], [bomb, bomb], [header(array("|u1", (len(bomb),))), bomb], encode(bomb)):
        with contextlib.suppress(CodecError):
            decode(frames)
    assert not trace.exists()
    pickle.loads(bomb)
    assert trace.exists(), "it would have been noticed"


def test_random_damage_gives_an_object_or_the_one_error() -> None:
    dice = random.Random(5)
    sent = {"a": [np.arange(6.0), (1, "text", None)], "b": np.zeros(3, [("x", "u1"), ("y", "<f4")]), 3: b"bytes"}
    whole = [bytes(frame) for frame in encode(sent)]
    for _ in range(3000):
        frames = [bytearray(frame) for frame in whole]
        for _ in range(dice.randint(1, 4)):
            one = dice.choice(frames)
            one[dice.randrange(len(one))] = dice.choice(b'0123456789[]",{}<>|OfiuV\x00\xff-')
        try:
            assert repr(decode(frames)), "what was decoded can be read"
        except CodecError:
            continue


class Panic(BaseException):
    """An exception that represents a panic in a Rust library."""


def test_a_panic_is_the_one_error_and_what_ends_a_program_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for raised, told in ((Panic, CodecError), (KeyboardInterrupt, KeyboardInterrupt), (SystemExit, SystemExit)):

        def reader(node: Any, reading: Any, raised: type[BaseException] = raised) -> Any:
            raise raised("asked to")

        monkeypatch.setitem(lookup.readers(), "panics", reader)
        with pytest.raises(told, match="asked to"):
            decode([header(["panics"], 0)])


def test_what_is_kept_of_many_long_headers_is_bounded() -> None:
    reading.forget()
    for number in range(60):
        names = {f"{number} {place} {'x' * 1000}": place for place in range(200)}
        assert decode(encode(names)) == names
    assert len(reading._plans) == len(reading._held) > 1
    assert sum(reading._held.values()) <= reading.KEPT_BYTES
