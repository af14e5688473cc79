"""Each codec returns an identical object, or refuses it with its own error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from carrying import copy_frames
from identical import identical
from zoo import ZOO
from zoo_arrays import (
    ALIGNED,
    EMPTY_FIELDS,
    META,
    NESTED_ALIGNED,
    NESTED_RECORD,
    NESTED_TITLE,
    OVERLAPPING,
    PADDED,
    RECORD,
    SWAPPED,
    TITLED,
    fill,
)

from hopmeter.codecs import CodecError, decode, encode

ALWAYS = ("number", "text", "container", "time", "identifier")
"""Groups of which hopmeter's codec carries every object."""
DTYPES = (
    TITLED,
    NESTED_TITLE,
    ALIGNED,
    NESTED_ALIGNED,
    PADDED,
    SWAPPED,
    OVERLAPPING,
    RECORD,
    NESTED_RECORD,
    EMPTY_FIELDS,
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ZOO)
def test_hopmeters_codec_carries_an_object_exactly_or_refuses_it_with_a_remedy(name: str) -> None:
    sent: Any = ZOO[name]()
    try:
        frames = encode(sent)
    except CodecError as refused:
        assert refused.remedy
        assert name.split()[0] not in ALWAYS
        return
    assert identical(decode(copy_frames(frames)), sent)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_property_of_a_structure_arrives(dtype: Any) -> None:
    assert identical(decode(copy_frames(encode(fill(dtype)))), fill(dtype))


def test_what_numpy_calls_equal_is_not_taken_for_each_other() -> None:
    plain = np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [0, 8], "itemsize": 16})
    assert plain == ALIGNED
    for dtype in (plain, ALIGNED, plain):
        assert identical(decode(copy_frames(encode(fill(dtype)))), fill(dtype))
    assert encode(np.zeros(3))
    with pytest.raises(CodecError, match=r"unit.*E-DTYPE"):
        encode(np.zeros(3, META))
