"""No Arrow frame, whatever its content, crashes the process that decodes the frame or reads the result."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import arrow_corpus
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from carrying import carry

from hopmeter.codecs import CodecError, comparison_codec, decode, encode
from hopmeter.codecs.arrow.messages import message_of
from hopmeter.codecs.header import PREFIX, pack

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("arrow_damage.py")
MUTATIONS = int(os.environ.get("HOPMETER_ARROW_MUTATIONS", "40000"))
"""The number of mutations. A few thousand mutations run per second, so the test takes 10 to 20 s."""
PROCESSES = 4
HANGS_S = 300

READS = """
import json, sys
from hopmeter.codecs import CodecError, decode
try:
    found = decode([bytes.fromhex(frame) for frame in json.load(sys.stdin)])
except CodecError as refusal:
    print("refused", refusal)
else:
    print("read", repr(found), found.to_pylist(), found.equals(found), found.to_pandas())
"""


def outcome(frames: list[Any]) -> str:
    sent = json.dumps([bytes(frame).hex() for frame in frames])
    done = subprocess.run([sys.executable, "-c", READS], input=sent, capture_output=True, text=True, timeout=HANGS_S)
    return signal.Signals(-done.returncode).name if done.returncode < 0 else done.stdout + done.stderr


def schema(of: Any) -> str:
    return base64.b64encode(pa.schema([pa.field("", of)]).serialize()).decode()


def frames_of(of: Any, parts: list[Any], *frames: bytes) -> list[bytes]:
    return [pack(json.dumps(["arrow.array", schema(of), parts]), len(frames)), *frames]


def assert_refused(of: Any, parts: list[Any], *frames: bytes, match: str) -> None:
    with pytest.raises(CodecError, match=match):
        decode(frames_of(of, parts, *frames))


def deaths(first: int, count: int, marks: Path) -> list[str]:
    """Return the mutations that crashed their process, each with the outcome. Later mutations still run."""
    found, number = [], first
    while number < first + count:
        command = [sys.executable, str(PROGRAM), str(number), str(first + count - number), str(marks)]
        done = subprocess.run(command, capture_output=True, text=True)
        if not done.returncode:
            break
        number = int(marks.read_text())
        told = done.stderr.strip().splitlines()[-1:]
        found.append(f"`python {PROGRAM} {number} 1 /dev/null` ends with {done.returncode}: {told}")
        number += 1
    return found


@pytest.mark.timeout(0)  # the program kills a process that hangs
@pytest.mark.parametrize("process", [0, *(pytest.param(each, marks=pytest.mark.rest) for each in range(1, PROCESSES))])
def test_no_damaged_frame_ends_the_process_that_decodes_and_reads_it(process: int, tmp_path: Path) -> None:
    each = MUTATIONS // PROCESSES
    assert deaths(process * each, each, tmp_path / "number") == []


def test_every_type_of_arrow_is_damaged_here_or_refused() -> None:
    known = {name.removeprefix("Type_"): getattr(pa.lib, name) for name in dir(pa.lib) if name.startswith("Type_")}
    found = {one for array in arrow_corpus.arrays() for one in arrow_corpus.ids(array.type)}
    # A name that is in none of the lists belongs to a type that this PyArrow version introduced.
    assert {name for name, number in known.items() if number not in found} == set(arrow_corpus.REFUSED)


@pytest.mark.parametrize("array", arrow_corpus.arrays(), ids=lambda array: str(array.type)[:40])
def test_what_is_damaged_here_was_valid_before(array: Any) -> None:
    back = carry(array)
    assert back.type == array.type
    assert back.equals(array)


def test_a_union_that_says_which_values_are_missing_is_refused() -> None:
    for mode, more in (("sparse", 2), ("dense", 3)):
        of = pa.union([pa.field("a", pa.int8())], mode)
        parts = [1, 0, [1] * more, [[1, 0, [0, 1], [], None]], None]
        assert outcome(frames_of(of, parts, *[bytes(4)] * (more + 1))).startswith(f"refused an Arrow {mode}_union")


@pytest.mark.parametrize("present", [[], [0], [0, 0], [0, 1, 0]])
def test_views_without_their_buffers_are_refused(present: list[int]) -> None:
    frames = [bytes(16)] * sum(present)
    for of in (pa.string_view(), pa.binary_view()):
        assert outcome(frames_of(of, [1, 0, present, [], None], *frames)).startswith(f"refused an Arrow {of} array")


def test_a_fixed_size_list_with_a_lying_offset_is_refused() -> None:
    values = [2, 0, [0, 1], [], None]
    for length, offset in ((1, 5), (1, 1), (1, 2**40), (2, 0)):
        parts = [length, offset, [0], [values], None]
        assert outcome(frames_of(pa.list_(pa.int8(), 2), parts, bytes(2))).startswith("refused a child")


def test_a_map_without_some_of_its_keys_is_refused() -> None:
    of, keys, items = pa.map_(pa.int8(), pa.int8()), [2, 0, [1, 1], [], None], [2, 0, [0, 1], [], None]
    ends = bytes(4) + (2).to_bytes(4, "little")
    kept = [b"\x01", bytes(2), bytes(2)]
    parts = [1, 0, [0, 1], [[2, 0, [0], [keys, items], None]], None]
    assert outcome(frames_of(of, parts, *kept, ends)).startswith("refused an Arrow map")
    parts[3][0][2] = [1]
    assert outcome(frames_of(of, parts, *kept, b"\x01", ends)).startswith("refused entries")


def test_a_view_of_a_missing_value_that_leads_nowhere_is_refused() -> None:
    text = pa.array(["a" * 30, None], pa.string_view())
    head, marks, views, data = [bytearray(frame) for frame in encode(text)]
    views[16:20] = (2**31 - 1).to_bytes(4, "little")
    assert outcome([head, marks, views, data]).startswith("refused Arrow views")
    codec = comparison_codec("arrow-ipc")
    kind, message = codec.encode(pa.table({"a": text}))
    place = bytes(message).index(bytes(encode(text)[2])) + 16
    message = bytearray(message)
    message[place : place + 4] = (2**31 - 1).to_bytes(4, "little")
    with pytest.raises(CodecError, match="E-ARROW-VIEWS"):
        codec.decode([kind, message])


def test_an_empty_array_that_begins_elsewhere_is_one_that_begins_nowhere() -> None:
    far = bytes(4) + (2**31 - 1).to_bytes(4, "little")
    values = [0, 0, [0, 1, 1], [], None]
    for length, offset, first in ((0, 1, far), (0, 0, far[4:])):
        frames = frames_of(pa.list_(pa.string()), [length, offset, [0, 1], [values], None], b"", b"", first)
        assert outcome(frames).startswith("read")
        assert decode(frames).nbytes < 16
        assert decode(frames).offset == 0


def test_an_empty_array_in_a_stream_that_begins_elsewhere_is_refused() -> None:
    codec = comparison_codec("arrow-ipc")
    kind, message = codec.encode(pa.table({"a": pa.array([[], []], pa.list_(pa.list_(pa.int8())))}))
    assert codec.decode([kind, message]).num_rows == 2
    read = pa.ipc.open_stream(pa.py_buffer(message)).read_all()
    inner = read.column("a").chunk(0).values.buffers()[1]
    if inner is None:
        pytest.skip("this PyArrow sends no offset of an empty list")
    forged = bytearray(message)
    place = inner.address - np.frombuffer(message, np.uint8).ctypes.data
    forged[place : place + 4] = b"\xff\xff\xff\x7f"
    with pytest.raises(CodecError, match="E-ARROW-BUFFERS"):
        codec.decode([kind, forged])


def test_an_index_of_a_missing_value_leads_nowhere_else() -> None:
    for index in (b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff"):
        parts = [2, 0, [1, 1], [], [1, 0, [0, 1, 1], [], None]]
        of = pa.dictionary(pa.int32(), pa.string())
        frames = frames_of(of, parts, bytes(4) + b"\1\0\0\0", b"x", b"\1", bytes(4) + index)
        found = decode(frames)
        assert found.to_pylist() == ["x", None]
        assert np.frombuffer(found.indices.buffers()[1], "<i4").tolist() == [0, 0]


LONG = [(40, 0), (8, 64), (2**62, 0), (1, 2**62), (2**62, 2**62), (2**63 - 1, 2**63 - 1)]
"""Lengths and offsets beyond the content of every test frame: bits are stored in whole bytes, and no array has more
than 4 values."""


@pytest.mark.parametrize("array", arrow_corpus.arrays(), ids=lambda array: str(array.type)[:40])
def test_a_length_or_an_offset_that_the_frames_do_not_bear_is_refused(array: Any) -> None:
    if array.type in (pa.null(), pa.binary(0), pa.struct([]), pa.list_(pa.int8(), 0)):
        return  # arrays of these types have no bytes, so another test limits their length
    head, *rest = [bytes(frame) for frame in encode(array)]
    node = json.loads(head[PREFIX.size :])
    for length, offset in LONG:
        node[2][:2] = length, offset
        with pytest.raises(CodecError):
            decode([pack(json.dumps(node), len(rest)), *rest])


def test_children_shorter_than_their_parent_are_refused() -> None:
    values = [1, 0, [0, 1], [], None]
    assert_refused(pa.struct([("a", pa.int8())]), [2, 0, [0], [values], None], bytes(1), match="E-ARROW-CHILDREN")
    of = pa.union([pa.field("a", pa.int8())], "sparse")
    assert_refused(of, [2, 0, [0, 1], [values], None], bytes(1), bytes(2), match="E-ARROW-CHILDREN")


def test_numbers_that_no_type_has_are_refused() -> None:
    for scale in (-(2**31), 2**31 - 1, 77):
        assert_refused(pa.decimal128(38, scale), [1, 0, [0, 1], [], None], bytes(16), match=rf"{scale}.*E-ARROW-TYPE")
    of = pa.sparse_union([pa.field("a", pa.int8()), pa.field("b", pa.int8())], [3, 3])
    values = [1, 0, [0, 1], [], None]
    assert_refused(of, [1, 0, [0, 1], [values] * 2, None], *[bytes(1)] * 3, match="E-ARROW-UNION")
    assert_refused(pa.int8(), [1, 0, [0, 1], [], values], *[bytes(1)] * 2, match="E-ARROW-DICTIONARY")


def test_rows_without_columns_are_few() -> None:
    empty = base64.b64encode(pa.schema([]).serialize()).decode()
    for tag in ("arrow.table", "arrow.batch"):
        with pytest.raises(CodecError, match="E-ROWS"):
            decode([pack(json.dumps([tag, empty, 2**40, []]), 0)])
    assert carry(pa.table({"a": pa.nulls(7)}).select([])).num_rows == 7


def test_nulls_cut_from_afar_arrive() -> None:
    cut = pa.nulls(2**30).slice(2**29, 5)
    assert carry(cut).equals(cut)


def test_metadata_that_share_one_long_text_are_refused() -> None:
    words = {"long": "x" * 10_000, **{str(number): "" for number in range(1000)}}
    raw = bytearray(pa.schema([], metadata=words).serialize().to_pybytes())
    assert carry(pa.schema([], metadata=words)).metadata[b"long"] == b"x" * 10_000
    table = message_of(bytes(raw), 8).table(2)
    assert table is not None
    places = [pair.place(1) for pair in table.tables(2)]
    text = raw.index(b"x" * 10_000) - 4
    for place in places:
        raw[place : place + 4] = (text - place).to_bytes(4, "little")
    assert len(pa.ipc.read_schema(pa.py_buffer(raw)).metadata[b"7"]) == 10_000
    with pytest.raises(CodecError, match="E-ARROW-METADATA"):
        decode([pack(json.dumps(["arrow.schema", base64.b64encode(raw).decode()]), 0)])


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_compressed_stream_is_refused_before_it_is_inflated(compression: str) -> None:
    for column in (pa.array(np.zeros(2**20)), pa.array(["x" * 10**6]).dictionary_encode()):
        table, sink = pa.table({"a": column}), pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as stream:
            stream.write_table(table)
        before = pa.default_memory_pool().bytes_allocated()
        with pytest.raises(CodecError, match="E-ARROW-COMPRESSED"):
            comparison_codec("arrow-ipc").decode([b"table", sink.getvalue()])
        assert pa.default_memory_pool().bytes_allocated() - before < 10**6


def test_rows_of_a_stream_that_are_in_no_frame_are_few() -> None:
    codec = comparison_codec("arrow-ipc")
    for column in (pa.nulls(2**24), pa.array([None]).cast(pa.list_(pa.null()))):
        frames = codec.encode(pa.table({"a": column}))
        if len(column) == 1:
            assert codec.decode(frames).num_rows == 1
            continue
        with pytest.raises(CodecError, match="E-ROWS"):
            codec.decode(frames)


def test_what_polars_panics_at_when_it_is_read_is_refused() -> None:
    far = [pa.array([2**31 - 1], pa.date32()), pa.array([-(2**63)], pa.duration("ms"))]
    far += [pa.array([2**63 - 1], pa.timestamp(unit)) for unit in ("s", "ms", "us")]
    for moment in far:
        assert carry(moment).equals(moment)
        for sent in (moment, pa.table({"a": pa.ListArray.from_arrays([0, 1], moment)})):
            with pytest.raises(CodecError, match="E-FRAMEWORK-DTYPE"):
                carry(sent, as_="polars")
    with pytest.raises(CodecError, match="E-FRAMEWORK-LIMIT"):
        carry(pa.table({"a\0b": [1]}), as_="polars")
    near = pl.Series("a", [0, 253402300799], pl.Int64).cast(pl.Datetime("ms"))
    assert carry(near).equals(near)
