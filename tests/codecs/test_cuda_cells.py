"""Tests for the axis `share` with a fake GPU: the object of a cell is shared by its handle, and never copied
silently."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cuda_peer
import numpy as np
import pytest

from hopmeter.codecs import CodecError, arrays, lookup, writing
from hopmeter.codecs.cuda import nodes, wire
from hopmeter.codecs.forms import Form
from hopmeter.node.payloads import forms
from hopmeter.node.payloads.objects import Objects, open_objects

SHARED = ("gpu", "cuda-ipc")


class Own(cuda_peer.Tensor):
    """A tensor of a fake framework, with the codec of that framework."""


def _write(obj: Own, frames: Any, depth: int) -> str:
    del depth
    lent = nodes.lend_tensor(obj, frames, "lent") if isinstance(frames, writing.Lending) else None
    return lent or arrays.write(obj.array, frames, "lent")


writing._writers[Own] = _write


def place_on_gpu(array: Any, exportable: bool = True) -> Own:
    there = cuda_peer.memory(cuda_peer.allocate(exportable), array.shape, array.dtype.str)
    there[...] = array
    return Own(there)


def import_ghost(ghost: Any) -> Own:
    assert np.from_dlpack(ghost).ctypes.data == ghost.array.ctypes.data
    return Own(ghost.array, ghost.device)


def register(make: Callable[..., Any] = place_on_gpu) -> None:
    """Register the fake framework's codec and the functions that cells need."""
    form = Form(
        lambda array, _: make(array), lambda tensor: tensor.array, "float32", cpu=False, gpu="gpu", gpus=lambda: 1
    )
    known = vars(cuda_peer.PLAIN) | {"from_array": lambda _: Own, "from_device": lambda _: import_ghost}
    lookup.codecs()["lent"] = SimpleNamespace(**known, FORM=form, PACKAGE="numpy")  # type: ignore[assignment]
    forms.forms.cache_clear()


@pytest.fixture
def lent(gpu: Any) -> Iterator[Any]:
    register()
    yield gpu
    forms.forms.cache_clear()


def payload(objects: Any) -> Any:
    encoded = objects.encode()
    room = np.empty(objects.payload_bytes(encoded), np.uint8)
    objects.write(encoded, room.data)
    return room


RECEIVER = """
import os, sys
sys.path.insert(0, sys.argv[1])
import cuda_peer
os.environ["FAKE_CUDA"] = "AB"
cuda_peer.pretend(sys.argv[2])
import test_cuda_cells as cells
cells.register()
objects = cells.open_objects("lent", sys.argv[3], *cells.SHARED)
came = objects.decode(memoryview(sys.stdin.buffer.read()))
print(objects.is_right(came, True), cuda_peer.fake().fake_calls(b"open"), cuda_peer.fake().fake_calls(b"read"))
"""


@pytest.mark.parametrize("made_of", ["array:20x30", "image:32x16"])
def test_another_process_has_the_object_in_the_memory_of_the_source(lent: Any, library: str, made_of: str) -> None:
    objects = open_objects("lent", made_of, *SHARED)
    room = payload(objects)
    assert len(room) < wire.LAYOUT.size + 512, "a handle, and not the memory"
    command = [sys.executable, "-c", RECEIVER, str(Path(__file__).parent), library, made_of]
    done = subprocess.run(command, input=room.tobytes(), capture_output=True, check=False)
    assert done.stdout.split() == [b"True", b"1", b"0"], done.stderr.decode()
    assert lent.fake_calls(b"synchronize") >= 1


def test_without_share_the_same_object_is_copied(lent: Any) -> None:
    assert len(payload(open_objects("lent", "image:32x16", "gpu"))) > 32 * 16 * 3


def test_what_changes_in_the_memory_is_seen_by_the_comparison(lent: Any) -> None:
    objects = open_objects("lent", "array:2x3", *SHARED)
    assert isinstance(objects, Objects)
    came = objects.decode(payload(objects).data)
    assert objects.is_right(came, thoroughly=True)
    objects._sent = objects._sent.copy()
    objects.obj.array[1, 2] = 7
    assert not objects.is_right(came, thoroughly=True)


def test_an_object_that_could_only_be_copied_fails_with_why(lent: Any) -> None:
    register(lambda array: place_on_gpu(array, exportable=False))
    with pytest.raises(CodecError, match=r"cudaMalloc.*without `share`.*E-GPU-NOT-LENDABLE"):
        open_objects("lent", "array:2x3", *SHARED)


def test_what_has_no_handles_or_no_gpu_says_so() -> None:
    assert forms.lenders() == ["cupy", "jax", "paddle", "tensorflow", "torch"]
    with pytest.raises(CodecError, match=r"numpy .*GPU.*E-NO-DEVICE"):
        forms.place_of("numpy", *SHARED)
