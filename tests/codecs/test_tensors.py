"""Tensors of every installed framework arrive equal in shared memory, or are refused with a remedy."""

from __future__ import annotations

import importlib
import json
import mmap
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from carrying import addresses, carry, copy_frames, lies_in
from kinds import KINDS, Tensorflow

from hopmeter.codecs import CodecError, decode, encode, install_hint
from hopmeter.codecs.header import pack
from hopmeter.codecs.lookup import codec_named
from hopmeter.codecs.reading import forget

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
UNSIGNED = ["uint16", "uint32", "uint64"]
LACKED = {("paddle", "uint16")}
SHAPES: list[tuple[int, ...]] = [(), (0,), (5,), (3, 4), (2, 0, 3), (2, 3, 4)]
FRAMEWORKS = ["torch", "tensorflow", "jax", "paddle"]


@pytest.fixture(params=FRAMEWORKS)
def name(request: pytest.FixtureRequest) -> str:
    if install_hint(request.param):
        pytest.skip(install_hint(request.param))
    return str(request.param)


@pytest.fixture
def kind(name: str) -> Any:
    return KINDS[name]()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_dtype_and_shape_comes_back_equal(kind: Any, dtype: str, shape: tuple[int, ...]) -> None:
    numbers = (np.arange(int(np.prod(shape))) % 7).reshape(shape).astype("float32")
    tensor = kind.tensor(numbers, dtype)
    back = carry(tensor)
    assert type(back) is type(tensor)
    assert kind.dtype(back) == dtype
    assert tuple(back.shape) == shape
    assert (
        kind.array(back).astype("float64" if "complex" not in dtype else dtype).tolist() == kind.array(tensor).tolist()
    )


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bfloat16"] + UNSIGNED)
def test_every_array_is_received_as_a_tensor_of_its_dtype_or_refused(name: str, kind: Any, dtype: str) -> None:
    array = np.array([0, 1, 2, 3]).astype(dtype)
    if dtype in UNSIGNED:
        array[-1] = np.iinfo(dtype).max
    # PyTorch has had most of these dtypes since 2.3; older versions are tested too.
    if (name, dtype) in LACKED or (name == "torch" and not hasattr(kind.of, dtype)):
        with pytest.raises(CodecError, match=r"numpy.*E-FRAMEWORK-DTYPE"):
            carry(array, as_=name)
        return
    tensor = carry(array, as_=name)
    assert kind.dtype(tensor) == dtype
    assert kind.array(tensor).tolist() == array.tolist()


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
def test_frames_are_the_tensors_memory_and_the_result_the_buffers(kind: Any, dtype: str) -> None:
    tensor = kind.tensor(np.ones((16, 16), "float32"), dtype)
    frames = encode(tensor)
    assert lies_in(kind.address(tensor), frames)
    there = copy_frames(frames)
    back = decode(there)
    assert [kind.address(back)] == [start for start, _ in addresses(there)]


def test_read_only_memory_is_copied_not_written_to(kind: Any) -> None:
    frames = [bytes(frame) for frame in encode(np.arange(12, dtype="float32").reshape(3, 4))]
    back = decode(frames, as_=next(name for name, of in KINDS.items() if isinstance(kind, of)))
    assert kind.array(back).tolist() == np.arange(12).reshape(3, 4).tolist()
    assert not lies_in(kind.address(back), frames)


def test_the_receive_buffer_is_held_as_long_as_the_tensor_and_no_longer(name: str, kind: Any) -> None:
    head, data = encode(np.arange(6, dtype="f4"))
    room = mmap.mmap(-1, mmap.PAGESIZE)
    held = weakref.ref(room)
    room[: data.nbytes] = bytes(data)
    tensor = decode([head, memoryview(room)[: data.nbytes]], as_=name)
    del room
    assert held() is not None
    assert kind.array(tensor).tolist() == [0, 1, 2, 3, 4, 5]
    del tensor
    assert held() is None


def quicker_way(name: str) -> Any:
    """The private fast path of a framework, which is quicker than the framework's public function."""
    if name == "jax":
        return importlib.import_module("jaxlib.xla_client")._xla.dlpack_managed_tensor_to_buffer
    return importlib.import_module("paddle").base.core.eager.read_next_tensor_list


def replace(monkeypatch: pytest.MonkeyPatch, name: str, way: Any) -> None:
    if name == "jax":
        client = importlib.import_module("jaxlib.xla_client")
        has = {key: value for key, value in vars(client._xla).items() if key != "dlpack_managed_tensor_to_buffer"}
        more = {"dlpack_managed_tensor_to_buffer": way} if way else {}
        monkeypatch.setattr(client, "_xla", SimpleNamespace(**has, **more))
    elif way:
        monkeypatch.setattr(importlib.import_module("paddle").base.core.eager, "read_next_tensor_list", way)
    else:
        monkeypatch.delattr(importlib.import_module("paddle").base.core.eager, "read_next_tensor_list")


@pytest.fixture(params=["jax", "paddle"])
def quicker(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    """Return a framework with a fast path, and its kind. The framework's fast path must be verified again, because
    earlier verifications are forgotten."""
    if install_hint(request.param):
        pytest.skip(install_hint(request.param))
    forget_proofs(request.param)
    yield request.param, KINDS[request.param]()
    forget_proofs(request.param)


def forget_proofs(name: str) -> None:
    """Forget the verified fast paths and the plans that use them."""
    codec_named(name)._loader.cache_clear()
    forget()


def lies_in_the_buffer(name: str, kind: Any) -> bool:
    """Check the values of a received tensor, and return whether the tensor uses the receive buffer."""
    there = copy_frames(encode(np.arange(6, dtype="f4")))
    back = decode(there, as_=name)
    assert kind.array(back).tolist() == [0, 1, 2, 3, 4, 5]
    return [kind.address(back)] == [start for start, _ in addresses(there)]


def test_the_quicker_way_is_taken_where_it_makes_the_same(
    quicker: tuple[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = Mock(side_effect=quicker_way(quicker[0]))
    replace(monkeypatch, quicker[0], call)
    assert lies_in_the_buffer(*quicker)
    assert call.call_count == 2  # one call for verification


@pytest.mark.parametrize("has", ["none", "another"])
def test_without_the_quicker_way_the_public_one_shares(
    quicker: tuple[str, Any], monkeypatch: pytest.MonkeyPatch, has: str
) -> None:
    zeros = quicker[1].tensor(np.zeros(4, "f4"), "float32")
    wrong = [zeros] if quicker[0] == "paddle" else zeros
    replace(monkeypatch, quicker[0], None if has == "none" else lambda *_: wrong)
    assert lies_in_the_buffer(*quicker)


def test_an_array_may_be_received_as_a_tensor_and_a_tensor_as_an_array(name: str, kind: Any) -> None:
    for array in (np.arange(6, dtype=">f4"), np.asfortranarray(np.ones((2, 3), "f4")), np.zeros((0, 2), "f4")):
        tensor = carry({"a": array}, as_=name)["a"]
        assert kind.array(tensor).tolist() == array.tolist()
        back = carry(tensor, as_="numpy")
        assert type(back) is np.ndarray
        assert back.tolist() == array.tolist()


def test_lies_about_tensors_are_refused(name: str) -> None:
    for dtype, extra in (("bfloat16", 3), ("<f4", "os"), ("float8_e4m3fn", [1]), ("<f4", [1, 2, 3, 4]), ("<f4", {})):
        head = pack(json.dumps(["array", name, dtype, [3], "C", extra]), 1)
        with pytest.raises(CodecError):
            decode([head, bytes(7)])


def test_what_is_not_installed_names_the_command_that_gets_it() -> None:
    absent = [name for name in (*FRAMEWORKS, "cupy", "mxnet") if install_hint(name)]
    if not absent:
        pytest.skip("every framework is installed here")
    for name in absent:
        assert f"`hopmeter build --framework {name}`" in install_hint(name)
        with pytest.raises(CodecError, match=rf"{name} .*hopmeter build --framework {name}.*E-FRAMEWORK-MISSING"):
            carry(np.ones(3, "f4"), as_=name)


def test_torch_keeps_gradients_parameters_and_views() -> None:
    if install_hint("torch"):
        pytest.skip(install_hint("torch"))
    import torch

    weight = torch.nn.Parameter(torch.ones(2, 3))
    back = carry(
        {
            "weight": weight,
            "cut": torch.arange(9.0).reshape(3, 3).T[:2],
            "conj": torch.ones(2, dtype=torch.cfloat).conj(),
        }
    )
    assert type(back["weight"]) is torch.nn.Parameter
    assert back["weight"].requires_grad
    assert back["cut"].tolist() == [[0, 3, 6], [1, 4, 7]]
    assert back["conj"].tolist() == [1, 1]
    assert carry(torch.ones(2, requires_grad=True)).requires_grad
    for refused in (torch.ones(2).to_sparse(), torch.nn.Linear(1, 1), torch.ones(2, device="meta")):
        with pytest.raises(CodecError, match="E-NO-CODEC"):
            encode(refused)
    for dtype in (getattr(torch, name) for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name)):
        tensor = torch.ones(3).to(dtype)
        assert torch.equal(carry(tensor).float(), tensor.float())


def test_tensorflow_keeps_variables_and_refuses_text() -> None:
    if install_hint("tensorflow"):
        pytest.skip(install_hint("tensorflow"))
    tf = Tensorflow().of
    back = carry(tf.Variable([1.0, 2.0]))
    assert isinstance(back, tf.Variable)
    assert back.numpy().tolist() == [1, 2]
    for refused in (tf.constant(["a"]), tf.ragged.constant([[1], [1, 2]])):
        with pytest.raises(CodecError, match="E-NO-CODEC"):
            encode(refused)


def test_jax_refuses_to_halve_numbers_and_to_send_keys() -> None:
    if install_hint("jax"):
        pytest.skip(install_hint("jax"))
    program = (
        "import jax, numpy as n; from hopmeter.codecs import *\n"
        "for run in (lambda: decode(encode(n.ones(3)), as_='jax'), lambda: encode(jax.random.key(1))):\n"
        "    try: run()\n"
        "    except CodecError as error: print(error)"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert "jax_enable_x64" in done.stdout
    assert "key_data" in done.stdout
