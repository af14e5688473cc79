"""Dictionary keys that are chosen to collide are refused before a dictionary is built."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from carrying import carry

from hopmeter.codecs import CodecError, decode, encode
from hopmeter.codecs.checks import ALIKE, MOST_KEYS
from hopmeter.codecs.header import pack

MODULUS = 2**61 - 1
"""Integers that differ by a multiple of this modulus have the same hash."""


def decode_node(node: Any) -> Any:
    return decode([pack(json.dumps(node), 0)])


def flood(count: int) -> list[Any]:
    return [["int", f"{number * MODULUS:x}"] for number in range(10, 10 + count)]


@pytest.mark.parametrize("wrapped", [lambda key: key, lambda key: ["tuple", [key, 1]]], ids=["numbers", "tuples"])
def test_keys_of_one_hash_are_refused(wrapped: Any) -> None:
    keys = [wrapped(key) for key in flood(5_000)]
    for node in (["dict", [[key, 0] for key in keys]], ["set", keys], ["frozenset", keys]):
        with pytest.raises(CodecError, match="E-KEYS-COLLIDE"):
            decode_node(node)
    assert len(decode_node(["set", keys[:ALIKE]])) == ALIKE


def test_variables_of_xarray_whose_names_have_one_hash_are_refused() -> None:
    data = ["array", "numpy", "<f8", [], "C", None]
    named = [[key, [["tuple", []], ["dict", []], data]] for key in flood(200)]
    frames = [np.zeros(1).data.cast("B")] * 200
    with pytest.raises(CodecError, match="E-KEYS-COLLIDE"):
        decode([pack(json.dumps(["xarray.dataset", ["dict", []], named, []]), 200), *frames])


def test_numbers_beyond_64_bits_in_the_json_itself_are_refused_likewise() -> None:
    with pytest.raises(CodecError, match="E-KEYS-COLLIDE"):
        decode_node(["dict", [[number * MODULUS, 0] for number in range(10, 1000)]])


def test_many_keys_are_text_or_few() -> None:
    words = {str(number): number for number in range(MOST_KEYS + 1)}
    assert carry(words) == words
    numbers = set(range(MOST_KEYS))
    assert carry(numbers) == numbers
    assert carry(dict.fromkeys(numbers, 1)) == dict.fromkeys(numbers, 1)
    for many in (set(range(MOST_KEYS + 1)), dict.fromkeys(range(MOST_KEYS + 1))):
        with pytest.raises(CodecError, match=r"65537 keys .*array.*E-KEYS"):
            encode(many)
    with pytest.raises(CodecError, match=r"65537 .*E-KEYS"):
        decode_node(["set", list(range(MOST_KEYS + 1))])
