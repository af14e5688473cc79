"""NumPy arrays for the zoo, with every property of a dtype, array or scalar that a serialiser may lose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

try:
    import ml_dtypes
except ModuleNotFoundError:  # a package of JAX and TensorFlow
    ml_dtypes = None

TITLED = np.dtype([(("a title", "a"), "f4"), ("b", "i2")])
NESTED_TITLE = np.dtype([("in", TITLED), ("c", "u1")])
META = np.dtype("f8", metadata={"unit": "m"})
META_FIELD = np.dtype([("a", META)])
ALIGNED = np.dtype([("a", "u1"), ("b", "f8")], align=True)
NESTED_ALIGNED = np.dtype([("in", ALIGNED), ("b", "f4")])
PADDED = np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [3, 16], "itemsize": 32})
SWAPPED = np.dtype({"names": ["a", "b"], "formats": ["f4", "f8"], "offsets": [8, 0]})
OVERLAPPING = np.dtype({"names": ["a", "b"], "formats": ["f8", "f4"], "offsets": [0, 0]})
INTEGER_PARTS = np.dtype((np.int32, {"low": (np.int16, 0), "high": (np.int16, 2)}))
EMPTY_FIELDS = np.dtype({"names": [], "formats": [], "itemsize": 8})
SUBARRAYS = np.dtype([("a", "f4", (2, 3)), ("b", [("c", "i1", (2,))], (2,))])
RECORD = np.dtype((np.record, [("a", "i4"), ("b", "f8")]))
NESTED_RECORD = np.dtype([("in", RECORD)])
STRING_PAIR = np.dtype([("\ud83d\ude00", "f4")])


class Own(np.ndarray[Any, Any]):
    """An array with an additional attribute."""


class OwnVoid(np.void):
    pass


class OwnFloat(np.float64):
    pass


class OwnMasked(np.ma.MaskedArray[Any, Any]):
    pass


DTYPES: list[Any] = [
    *("?", "b", "B", "h", "H", "i", "I", "q", "Q", "e", "f", "d", "g", "F", "D", "G", "l", "L"),
    *(">i2", ">u4", ">f8", ">c16", ">U3", ">M8[s]", ">m8[us]", "S4", "U7", "V9", "S0", "U0", "V0", "S1", "O"),
    *("M8[ns]", "M8[25s]", "M8[D]", "M8", "m8[us]", "m8", "M8[Y]", "m8[7D]", "M8[as]", ">f2", ">g"),
    *(TITLED, NESTED_TITLE, META, META_FIELD, ALIGNED, NESTED_ALIGNED, PADDED, SWAPPED, OVERLAPPING, INTEGER_PARTS),
    *(EMPTY_FIELDS, np.dtype([]), SUBARRAYS, RECORD, NESTED_RECORD, STRING_PAIR, np.dtype([("a", "O")])),
    *(np.dtype((OwnVoid, [("a", "f4")])), np.dtype([("a", ">f4"), ("b", "<M8[25s]")]), np.dtype([("", "f4")])),
    *(np.dtype([("ü", "U3"), ("b", "S2")]), np.dtype([(("t", "a"), "f4", (2,))]), np.dtype([("a", "V3"), ("b", "?")])),
    *(np.dtype("V8"), np.dtype("U1", metadata={"a": 1})),
    np.dtype([("a", "u1"), ("b", "u1")], align=True),
    np.dtype([("a", "f4", ())]),
    np.dtype([("a", "f4", (0,))]),
]
if ml_dtypes is not None:
    DTYPES += [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, np.dtype([("a", ml_dtypes.bfloat16)])]
    DTYPES.append(np.dtype(np.dtype(ml_dtypes.bfloat16).newbyteorder(">")))
OBJECTS: dict[str, Any] = {
    "0-d": np.array(5.0),
    "0-d text": np.array("abc"),
    "0-d record": np.array((1, 2.0), "i4,f8"),
    "empty": np.zeros(0),
    "empty rows": np.zeros((2, 0, 3), "i4"),
    "empty text": np.array([], "U5"),
    "text of nothing": np.array(["", ""]),
    "columns": np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
    "steps": np.arange(20)[::2],
    "backwards": np.arange(20.0)[::-1],
    "cut": np.arange(20, dtype=">i4").reshape(4, 5)[1:, 1:3],
    "broadcast": np.broadcast_to(np.float32(3), (5, 6)),
    "transposed": np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2),
    "field of records": np.zeros(4, "i4,f8")["f1"],
    "fields of records": np.zeros(4, "i4,f8,u1")[["f0", "f2"]],
    "nan": np.array([np.nan, -np.nan, np.inf, -0.0]),
    "nat": np.array(["NaT", "2024"], "M8[ns]"),
    "zeros in text": np.array(["a\0b", "\0"]),
    "surrogates": np.array(["\ud83d\ude00"]),
    "wide": np.zeros((1,) * 32),
    "matrix": np.asmatrix(np.ones((2, 2))),
    "records": np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "records with titles": np.zeros(2, TITLED).view(np.recarray),
    "recarray of numbers": np.zeros(3).view(np.recarray),
    "characters": np.char.array(["a", "b"]),
    "own class": np.zeros(3).view(Own),
    "masked": np.ma.MaskedArray([1.0, 2.0], [False, True], fill_value=-7.0),
    "masked nowhere": np.ma.MaskedArray([1.0, 2.0]),
    "masked explicitly nowhere": np.ma.MaskedArray([1.0, 2.0], [False, False]),
    "masked hard": np.ma.MaskedArray([1, 2], [False, True], hard_mask=True),
    "masked fill with nan": np.ma.MaskedArray([1.0], [True], fill_value=np.nan),
    "masked number": np.ma.array(5, mask=True),
    "masked text": np.ma.array(["a"], mask=[True]),
    "masked times": np.ma.array(np.array(["2024", "NaT"], "M8[s]"), mask=[True, False]),
    "masked records": np.ma.array([(1, 2.0)], dtype="i4,f8", mask=[(True, False)]),
    "masked steps": np.ma.MaskedArray(np.arange(10), np.arange(10) % 3 == 0)[::2],
    "masked matrix": np.ma.array(np.asmatrix([[1, 2]])),
    "masked own class": np.ma.array([1, 2]).view(OwnMasked),
    "masked record": np.ma.array([(1, 2.0)], dtype="i4,f8", mask=[(True, False)])[0],
    "masked with titles": np.ma.zeros(2, TITLED),
    "masked empty": np.ma.MaskedArray(np.zeros(0), np.zeros(0, bool)),
    "masked constant": np.ma.masked,
    "number": np.float64(1.5),
    "single": np.float32(1.5),
    "half": np.float16(-0.0),
    "integer": np.int64(5),
    "byte": np.uint8(5),
    "truth": np.True_,
    "complex": np.complex64(1j),
    "long double": np.longdouble("0.1"),
    "time": np.datetime64("2024-01-01", "D"),
    "time in steps": np.datetime64(5, "25s"),
    "no time": np.datetime64("NaT"),
    "duration": np.timedelta64(5, "ms"),
    "text": np.str_("abc"),
    "no text": np.str_(""),
    "text with zeros": np.str_("a\0"),
    "bytes": np.bytes_(b"abc"),
    "bytes with zeros": np.bytes_(b"a\0"),
    "void": np.void(b"abc"),
    "record": np.zeros(1, RECORD)[0],
    "structure": np.zeros(1, "i4,f8")[0],
    "titled structure": np.zeros(1, TITLED)[0],
    "object": np.array([{}]),
    "own number": OwnFloat(1.5),
    "flat iterator": np.arange(3).flat,
    "function": np.sin,
    "generator": np.random.default_rng(1),
    "dict": {"a": np.arange(3), "b": np.ones((2, 2))},
    "dict of steps": {"a": np.arange(10)[::3]},
    "dict of one array": {"array": np.arange(3)},
    "dict of numbers and arrays": {1: np.arange(3)},
    "dict with metadata": {"__metadata__": np.arange(3)},
    "dict of nothing": {"": np.arange(3)},
    "dict of views": (lambda a: {"a": a, "b": a[1:]})(np.arange(4.0)),
    "dict of masked": {"a": np.ma.MaskedArray([1, 2], [True, False])},
    "dict of scalars": {"a": np.float64(1.5), "b": np.int64(3)},
    "list": [np.arange(3), (np.arange(2), "text")],
    "list of scalars": [np.float64(1.5), 1.5],
    "keys": {np.str_("a"): 1},
    "integer keys": {np.int64(1): 1},
    "dtype": np.dtype("f8"),
    "dtype of an array": np.dtype(("f4", (2, 3))),
    "dtype with metadata": META,
    "dtype with titles": TITLED,
    "aligned dtype": ALIGNED,
    "dtype of objects": np.dtype("O"),
    "type": np.float64,
}


def fill(dtype: Any, shape: tuple[int, ...] = (3,)) -> Any:
    """Return an array filled with non-zero bytes, if its dtype allows that."""
    made = np.zeros(shape, dtype)
    if made.dtype.kind in "iufc" and made.dtype.char not in "gG" and made.dtype.fields is None:
        made = np.arange(made.size).astype(made.dtype).reshape(shape)
    return made


def strings(**told: Any) -> Callable[[], Any]:
    """Variable-length strings, with an object for missing values."""
    return lambda: np.array(["a", "ü" * 3000, "\ud7ff"], np.dtypes.StringDType(**told))


ARRAYS: dict[str, Callable[[], Any]] = {
    f"dtype {place} {str(np.dtype(dtype))[:40]!a}": lambda dtype=dtype: fill(dtype)  # type: ignore[misc]
    for place, dtype in enumerate(DTYPES)
}
ARRAYS |= {f"array {name}": lambda obj=obj: obj for name, obj in OBJECTS.items()}  # type: ignore[misc]
if hasattr(np, "dtypes") and hasattr(np.dtypes, "StringDType"):
    ARRAYS |= {
        "strings": strings(),
        "strings or None": strings(na_object=None),
        "strings or nan": strings(na_object=np.nan),
        "strings or nothing": strings(na_object=""),
        "strings or words": strings(na_object="N/A"),
        "strings only": strings(coerce=False),
        "strings only or None": strings(coerce=False, na_object=None),
    }
