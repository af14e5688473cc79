"""A receiver that requires a GPU gets a GPU object, or an error that names an alternative."""

from __future__ import annotations

import json

import numpy as np
import pytest
from carrying import before_tensorflow, carry

from hopmeter.codecs import CodecError, decode, devices, install_hint
from hopmeter.codecs.header import pack

FRAMEWORKS = ["torch", "tensorflow", "jax", "paddle", "mxnet", "cupy"]
NOTES = {
    "torch": ["tensor", "cuda:3", False],
    "jax": "cuda",
    "paddle": ["gpu", True],
    "mxnet": "nd.gpu",
}
"""The device fields that the sender writes for a GPU tensor."""


@pytest.fixture(params=FRAMEWORKS)
def name(request: pytest.FixtureRequest) -> str:
    if install_hint(request.param):
        pytest.skip(install_hint(request.param))
    before_tensorflow()
    return str(request.param)


def has_gpu(name: str) -> bool:
    """Return whether the framework finds a GPU; CuPy creates arrays only with a GPU."""
    try:
        carry(np.ones(3, "f4"), as_=name, device="gpu")
    except CodecError:
        return False
    return True


@pytest.mark.parametrize("asked", ["gpu", "cuda", "cuda:0", "gpu:1"])
def test_a_gpu_that_is_not_there_is_refused_with_what_to_ask_for(name: str, asked: str) -> None:
    if has_gpu(name):
        pytest.skip("there is a GPU here")
    with pytest.raises(CodecError, match=rf" {asked} .*device=.cpu.*E-NO-DEVICE") as told:
        carry(np.ones(3, "f4"), as_=name, device=asked)
    assert told.value.remedy == devices.REMEDY


def test_a_place_that_is_no_device_is_refused(name: str) -> None:
    for asked in ("nonsense", "cuda:x", "cpu:7", ""):
        with pytest.raises(CodecError, match=r"E-VALUE-CHOICE|E-NO-DEVICE"):
            carry(np.ones(3, "f4"), as_=name, device=asked)


@pytest.mark.parametrize("name", [name for name in NOTES if not install_hint(name)])
def test_what_was_on_a_gpu_arrives_where_there_is_none(name: str) -> None:
    if has_gpu(name):
        pytest.skip("there is a GPU here")
    frames = [pack(json.dumps(["array", name, "<f4", [2], "C", NOTES[name]]), 1), np.ones(2, "f4").view("u1").data]
    for asked in (None, "cpu"):
        tensor = decode(frames, device=asked)
        assert (tensor.asnumpy() if name == "mxnet" else np.asarray(tensor)).tolist() == [1, 1]


def test_cupy_without_a_gpu_says_what_to_receive_instead() -> None:
    if install_hint("cupy"):
        pytest.skip(install_hint("cupy"))
    if has_gpu("cupy"):
        pytest.skip("there is a GPU here")
    for asked in (None, "cpu"):
        with pytest.raises(CodecError, match=r'CuPy.*as_="numpy".*E-NO-DEVICE'):
            carry(np.ones(3, "f4"), as_="cupy", device=asked)


def test_one_of_several_gpus_is_told_by_its_number() -> None:
    assert devices.gpu("x", "gpu", lambda: 2) == 0
    assert devices.gpu("x", "cuda:1", lambda: 2) == 1
    assert devices.gpu("x", "cpu", lambda: pytest.fail("nobody asked for a GPU")) is None
    with pytest.raises(CodecError, match=r"x .*2 GPUs.*gpu:2.*E-NO-DEVICE"):
        devices.gpu("x", "gpu:2", lambda: 2)
