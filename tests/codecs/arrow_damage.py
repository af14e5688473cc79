"""Corrupt and decode Arrow frames, and read the result, in a separate process, because a defect may crash the process.

`python tests/codecs/arrow_damage.py FIRST COUNT FILE` applies the mutations FIRST to FIRST + COUNT - 1, each seeded by
its number. FILE contains the number of the current mutation. `VERBOSE=1` prints each mutation.
"""

from __future__ import annotations

import json
import operator
import os
import random
import resource
import signal
import struct
import sys
import warnings
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from arrow_corpus import messages

from hopmeter.codecs import CodecError, comparison_codec, decode, encode, reading
from hopmeter.codecs.header import PREFIX, pack

MEMORY = 12 * 2**30
MOST_ROWS = 5000
HANGS_S = 60
"""A mutation that takes longer is killed and counts as a crash."""
POWERS = [2**bits + more for bits in (7, 8, 15, 31, 32, 61, 62, 63) for more in (-1, 0)]
EXTREME = [*range(-1, 10), *POWERS[:-1]]
ASKED: list[str | None] = [None, None, None, None, "polars", "pandas", "numpy", "pandas_arrow", "pyarrow"]
OF_ARROW = (pa.Array, pa.ChunkedArray, pa.Table, pa.RecordBatch)
ROWS = (*OF_ARROW, pl.Series, pl.DataFrame, pd.Series, pd.DataFrame, np.ndarray)
READ = (
    *(repr, len, list, encode, comparison_codec("arrow-ipc").encode),
    lambda obj: obj.equals(obj),
    lambda obj: obj == obj,
    lambda obj: obj.validate(full=True),
    lambda obj: obj.slice(1).nbytes + obj.null_count,
    lambda obj: pa.concat_arrays([obj, obj]),
    lambda obj: obj.cast(pa.large_string()),
)
WAYS = ("to_pylist", "to_pandas", "to_list", "tolist", "to_numpy", "to_arrow", "to_dicts", "combine_chunks", "copy")
DEEDS = ("dictionary_decode", "dictionary_encode", "drop_null", "drop_nulls", "unique", "value_counts")
"""Methods that are called if an object has them. `flatten` and `sort` are excluded, because PyArrow 26 crashes in them
for valid arrays of structs with missing values and a union field."""


def damage(frames: list[bytes], others: list[list[bytes]], dice: random.Random) -> list[bytes]:
    """Return frames with one to three random changes."""
    frames = list(frames)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        if frames[0][:4] == b"HOPC" and dice.random() < 0.55:
            frames = _header(frames, others, dice)
        else:
            frames = _memory(frames, dice)
    return frames


def _header(frames: list[bytes], others: list[list[bytes]], dice: random.Random) -> list[bytes]:
    try:
        root = [json.loads(frames[0][PREFIX.size :])]
    except ValueError:
        return frames
    if dice.random() < 0.4:
        _presence(root, dice)
    else:
        _change(root, others, dice)
    said = PREFIX.unpack_from(frames[0])[4]
    if dice.random() < 0.9:  # not always, because a header with a wrong count is refused before any other check
        said = _count(root[0])
        frames = frames[:1] + [frames[1 + n] if n + 1 < len(frames) else _some(dice) for n in range(min(said, 200))]
    try:
        return [pack(json.dumps(root[0], separators=(",", ":")), said), *frames[1:]]
    except (CodecError, struct.error):
        return frames


def _count(node: Any) -> int:
    """Guess how many frames a header describes."""
    if type(node) is not list:
        return 0
    if node and type(node[0]) is str:
        tag = node[0]
        own = int(tag in ("array", "bytes", "str", "arrow.buffer"))
        if tag == "array":
            return 1
        return own + sum(_count(part) for part in node[1:])
    if len(node) == 5 and type(node[2]) is list and type(node[0]) is int:
        return sum(one == 1 for one in node[2]) + _count(node[3]) + _count(node[4])
    return sum(_count(part) for part in node)


def _spots(node: Any) -> list[tuple[list[Any], int]]:
    if type(node) is not list:
        return []
    return [(node, n) for n in range(len(node))] + [spot for part in node for spot in _spots(part)]


def _presence(root: list[Any], dice: random.Random) -> None:
    """Add, drop or invert a buffer of an Arrow array, or change a length or offset."""
    parts = [node[n] for node, n in _spots(root) if type(node[n]) is list and len(node[n]) == 5]
    parts = [part for part in parts if type(part[0]) is type(part[1]) is int and type(part[2]) is type(part[3]) is list]
    if not parts:
        return
    part, what = dice.choice(parts), dice.randrange(6)
    if what == 0:
        part[2].append(dice.choice((0, 1)))
    elif what == 1 and part[2]:
        part[2].pop(dice.randrange(len(part[2])))
    elif what == 2 and part[2]:
        place = dice.randrange(len(part[2]))
        part[2][place] = 1 - part[2][place] if part[2][place] in (0, 1) else 1
    elif what == 3:
        part[dice.choice((0, 1))] = dice.choice(EXTREME)
    elif what == 4:
        part[dice.choice((0, 1))] += dice.choice((-2, -1, 1, 2, 8))
    elif part[3]:
        part[3][dice.randrange(len(part[3]))] = json.loads(json.dumps(dice.choice(parts)))


def _change(root: list[Any], others: list[list[bytes]], dice: random.Random) -> None:
    node, place = dice.choice(_spots(root))
    found = node[place]
    if type(found) is int and dice.random() < 0.8:
        node[place] = dice.choice(EXTREME) if dice.random() < 0.5 else found + dice.choice((-2, -1, 1, 2, 8))
    elif type(found) is str and len(found) > 80:
        node[place] = _schema(found, others, dice)
    elif type(found) is list and dice.random() < 0.5:
        _shuffle(found, dice)
    else:
        other, n = dice.choice(_spots([json.loads(dice.choice(others)[0][PREFIX.size :])]))
        node[place] = other[n]


def _shuffle(found: list[Any], dice: random.Random) -> None:
    if not found:
        found.append(dice.choice((0, 1, None, [], "")))
    elif dice.random() < 0.5:
        found.pop(dice.randrange(len(found)))
    else:
        found.insert(dice.randrange(len(found)), found[dice.randrange(len(found))])


def _schema(found: str, others: list[list[bytes]], dice: random.Random) -> str:
    """Replace the schema with that of another message, or change some of its bytes."""
    if dice.random() < 0.4:
        for _ in range(20):
            body = json.loads(dice.choice(others)[0][PREFIX.size :])
            texts = [node[n] for node, n in _spots([body]) if type(node[n]) is str and len(node[n]) > 80]
            if texts:
                return str(dice.choice(texts))
    try:
        raw = bytearray(b64decode(found))
    except ValueError:
        return found
    return b64encode(_bytes(raw, dice)).decode()


def _memory(frames: list[bytes], dice: random.Random) -> list[bytes]:
    start = 1 if len(frames) > 1 and dice.random() < 0.97 else 0
    place = dice.randrange(start, len(frames))
    what = dice.randrange(12)
    if what == 0 and len(frames) > 1:
        frames.pop(place)
    elif what == 1:
        frames.insert(place, frames[place])
    elif what == 2:
        other = dice.randrange(start, len(frames))
        frames[place], frames[other] = frames[other], frames[place]
    elif what in (3, 4):
        frames[place] = frames[place][: dice.randrange(len(frames[place]) + 1)]
    elif what == 5:
        frames[place] += _some(dice)
    elif what == 6:
        frames[place] = _some(dice)
    else:
        frames[place] = bytes(_bytes(bytearray(frames[place]), dice))
    return frames


def _some(dice: random.Random) -> bytes:
    return dice.choice((b"", dice.randbytes(dice.randrange(64)), bytes(64), b"\xff" * 64, bytes(range(64))))


def _bytes(raw: bytearray, dice: random.Random) -> bytearray:
    if not raw:
        return raw
    for _ in range(dice.choice((1, 1, 2, 4))):
        width = dice.choice((1, 1, 2, 4, 8))
        value = dice.choice(EXTREME) if dice.random() < 0.6 else dice.getrandbits(64)
        place = dice.randrange(len(raw)) // width * width
        room = raw[place : place + width]
        raw[place : place + width] = (value % 2 ** (8 * width)).to_bytes(width, "little")[: len(room)]
    return raw


def read(obj: Any, depth: int = 0) -> None:
    """Read the decoded object as a program would. Python exceptions are allowed, because valid arrays also raise
    exceptions; panics are not allowed."""
    short = obj[:MOST_ROWS] if isinstance(obj, ROWS) else obj
    for way in (*READ, *[operator.methodcaller(name) for name in WAYS + DEEDS if hasattr(short, name)]):
        try:
            way(short)
        except SystemError:
            raise
        except Exception:  # noqa: BLE001 (what is valid may raise too: what ends the process is looked for)
            continue
    parts = getattr(obj, "columns", None) if depth == 0 else None
    for part in list(parts)[:40] if isinstance(parts, list) else ():
        read(part, 1)


def one(number: int, corpus: list[tuple[str, list[bytes]]]) -> str:
    """Apply one mutation and return the outcome. Four of five mutations change frames of hopmeter's own codec, and the
    others change frames of comparison codecs."""
    dice = random.Random(number)
    others = [frames for codec, frames in corpus if not codec]
    codec, frames = dice.choice(corpus) if dice.random() < 0.4 else ("", dice.choice(others))
    asked = dice.choice(ASKED)
    frames = damage(frames, others, dice)
    try:
        obj = comparison_codec(codec).decode(frames) if codec else decode(frames, asked)
    except CodecError as refusal:
        return f"refused: {refusal}"
    read(obj)
    return f"read: {type(obj).__name__}"


def run(first: int, count: int, file: Path) -> None:
    """Apply all mutations, one after another. The file contains only the number of the current mutation."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    corpus, marks = messages(), os.open(file, os.O_WRONLY | os.O_CREAT)
    for number in range(first, first + count):
        signal.alarm(HANGS_S)
        os.pwrite(marks, b"%20d" % number, 0)
        if number % 512 == 0:
            reading.forget()
        what = one(number, corpus)
        if os.environ.get("VERBOSE"):
            print(number, what[:200], flush=True)


if __name__ == "__main__":
    run(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
