"""Tests for invalid devices: CPU-only objects on a GPU, unknown names, and NumPy-only values on other devices.

test_devices.py contains the tests for tensors, which also run in environments without these packages.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from carrying import carry

from hopmeter.codecs import CodecError, install_hint

OBJECTS = {
    "an array": np.ones(2),
    "a scalar": np.float32(1),
    "text": np.array(["a"], np.dtypes.StringDType()),
    "a masked array": np.ma.array([1.0], mask=[True]),
    "a table": pa.table({"a": [1]}),
    "a Polars frame": pl.DataFrame({"a": [1]}),
    "numbers": [1, b"2", {"a": None}],
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_what_is_no_device_is_refused_whatever_comes(kind: str) -> None:
    for asked in ("nonsense", "cuda:x", "cpu:7", "", "gpu:\u0661"):
        with pytest.raises(CodecError, match="E-VALUE-CHOICE"):
            carry(OBJECTS[kind], device=asked)
    carry(OBJECTS[kind], device="cpu")


@pytest.mark.parametrize("kind", [kind for kind in OBJECTS if kind != "numbers"])
def test_what_never_lies_on_a_gpu_is_refused_where_one_is_asked_for(kind: str) -> None:
    for sent in (OBJECTS[kind], {"a": [OBJECTS[kind]]}):
        with pytest.raises(CodecError, match=r"gpu:7 .*device=.cpu.*E-NO-DEVICE"):
            carry(sent, device="gpu:7")
    assert carry([1, b"2"], device="gpu") == [1, b"2"]


@pytest.mark.parametrize("as_", ["numpy", "polars", "pyarrow", "pandas", "xarray", "pillow"])
def test_a_framework_without_gpus_gives_nothing_on_one(as_: str) -> None:
    if install_hint(as_):
        pytest.skip(install_hint(as_))
    with pytest.raises(CodecError, match="E-NO-DEVICE"):
        carry(np.ones((2, 2), "u1"), as_=as_, device="cuda")
    carry(np.ones((2, 2), "u1"), as_=as_, device="cpu")


@pytest.mark.parametrize("as_", ["torch", "polars", "xarray"])
def test_what_only_numpy_has_is_not_received_as_another_s(as_: str) -> None:
    masked = np.ma.array([1, 2], mask=[True, False])
    for obj in (masked, {"a": masked}, np.ma.masked, np.array(["a"], np.dtypes.StringDType())):
        with pytest.raises(CodecError, match=rf" {as_} .*E-RECEIVE-AS"):
            carry(obj, as_=as_)
        carry(obj, as_="numpy")
