"""Tests that share GPU memory by handle between two processes, with a fake driver library instead of a GPU.

`test_gpu.py` tests sharing with a real driver.
"""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cuda_peer
import numpy as np
import pytest
from carrying import before_tensorflow, copy_frames, open_handles

from hopmeter.codecs import CodecError, Lender, decode, encode, install_hint, lookup
from hopmeter.codecs.cuda import driver, wire
from hopmeter.codecs.cuda.mappings import MAPPINGS
from hopmeter.codecs.header import PREFIX

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
NAMES = ["lent", "torch", "jax", "paddle", "tensorflow", "cupy"]


@pytest.mark.parametrize("name", NAMES)
def test_a_tensor_arrives_in_the_very_memory_of_its_sender(
    name: str, gpu: Any, started: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if name != "lent" and install_hint(name):
        pytest.skip(install_hint(name))
    if name == "cupy":
        monkeypatch.setattr(lookup.codec_named("cupy"), "_count", lambda _: 1)
    before_tensorflow()
    sender = started(name)
    made = open_handles(sender.frames(values=[[1, 2, 3], [4, 5, 6]], at=4096), None if name != "lent" else name)
    assert (gpu.fake_calls(b"open"), gpu.fake_calls(b"read"), sender("held")["held"]) == (1, 0, 1)
    assert numbers(name, made).tolist() == [[1, 2, 3], [4, 5, 6]]
    sender("change", base="one", at=4096 + 8, value=30)
    assert numbers(name, made).tolist() == [[1, 2, 30], [4, 5, 6]]
    assert sender("held")["synchronized"] >= 1


def numbers(name: str, made: Any) -> Any:
    if name == "cupy":
        return cuda_peer.memory(made.data.ptr, made.shape, made.dtype.str)
    return np.asarray(memoryview(made)) if name == "tensorflow" else np.from_dlpack(getattr(made, "array", made))


def test_headers_are_the_same_bytes_in_every_run_and_handles_lie_in_frames(started: Callable[..., Any]) -> None:
    one, other = started(), started()
    frames = [*(one.frames() for _ in range(2)), other.frames()]
    assert len({head for head, _ in frames}) == 1
    assert len({lent for _, lent in frames}) == 3
    assert all(len(lent) == wire.LAYOUT.size == 176 for _, lent in frames)


def test_the_flag_is_what_older_versions_refuse_and_only_there_where_a_handle_is(sender: Any) -> None:
    assert PREFIX.unpack_from(sender.frames()[0])[:4] == (b"HOPC", 1, 1, 0)
    plain, asked = encode([np.arange(3)]), encode([np.arange(3)], "cuda-ipc")
    assert plain[0] == asked[0]
    assert PREFIX.unpack_from(plain[0])[2] == 0
    assert decode(asked, share="cuda-ipc")[0].tolist() == [0, 1, 2]


def test_a_handle_without_its_flag_is_refused(gpu: Any, sender: Any) -> None:
    head, lent = sender.frames()
    with pytest.raises(CodecError, match="E-GPU-HANDLE"):
        decode([head[:5] + b"\0" + head[6:], lent], share="cuda-ipc")
    assert gpu.fake_calls(b"open") == 0


def test_nothing_is_opened_for_a_receiver_that_did_not_ask(gpu: Any, sender: Any) -> None:
    before = gpu.fake_calls(b"open")
    with pytest.raises(CodecError, match=r"share=.cuda-ipc.*encode\(obj\).*E-GPU-UNREQUESTED"):
        decode(sender.frames())
    assert gpu.fake_calls(b"open") == before
    with pytest.raises(CodecError, match=r"'nonsense'.*E-VALUE-CHOICE"):
        decode(sender.frames(), share="nonsense")
    with pytest.raises(CodecError, match=r" 5 .*E-VALUE-CHOICE"):
        encode(1, share=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", [{"as_": "numpy"}, {"as_": "lent", "device": "cpu"}, {"as_": None}])
def test_who_wants_it_on_the_cpu_has_one_copy_and_holds_nothing(asked: Any, gpu: Any, sender: Any) -> None:
    before = gpu.fake_calls(b"close")
    made = open_handles(sender.frames(values=[[1.5, 2, 3]], order="F", dtype="f8"), **asked)
    array = getattr(made, "array", made)
    assert (array.tolist(), array.dtype) == ([[1.5, 2, 3]], np.float64)
    assert (len(MAPPINGS), sender("held")["held"]) == (0, 0)
    assert gpu.fake_calls(b"close") == before + 1


def test_what_a_framework_does_not_import_as_it_lies_is_copied(
    gpu: Any, sender: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refusing(ghost: Any) -> Any:
        raise ValueError(f"no columns of {ghost.array.shape}")

    monkeypatch.setattr(cuda_peer.PLAIN, "from_device", lambda _: refusing)
    made = open_handles(sender.frames(values=[[1, 2], [3, 4]], order="F"))
    assert made.array.tolist() == [[1, 2], [3, 4]]
    assert (gpu.fake_calls(b"read"), sender("held")["held"]) == (1, 0)
    assert "copies a shared tensor: no columns of (2, 2)" in caplog.text


def test_the_gpu_is_found_by_its_uuid_however_it_is_numbered_here(
    gpu: Any, sender: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert open_handles(sender.frames(device="B")).device == 1
    monkeypatch.setenv("FAKE_CUDA", "BA")
    driver._load.cache_clear()
    assert open_handles(sender.frames(device="A")).device == 1
    monkeypatch.setenv("FAKE_CUDA", "B")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    driver._load.cache_clear()
    with pytest.raises(CodecError, match=r" 4141.*CUDA_VISIBLE_DEVICES=3.*encode.*E-GPU-HIDDEN"):
        open_handles(sender.frames(device="A"))


def test_one_allocation_is_opened_once_and_closed_with_its_last_tensor(gpu: Any, sender: Any) -> None:
    before = [gpu.fake_calls(b"open"), gpu.fake_calls(b"close")]
    first, second = (open_handles(sender.frames(at=at, values=[at])) for at in (0, 64))
    assert gpu.fake_calls(b"open") == before[0] + 1
    del first
    assert gpu.fake_calls(b"close") == before[1]
    assert second.array.tolist() == [64]
    del second
    assert gpu.fake_calls(b"close") == before[1] + 1
    assert sender("held")["held"] == 0


def test_the_newest_are_kept_and_older_ones_are_known_to_be_gone(gpu: Any, started: Callable[..., Any]) -> None:
    sender = started(kept=2)
    frames = [sender.frames(at=64 * number, values=[number]) for number in range(3)]
    with pytest.raises(CodecError, match=r"Lender\(64\).*E-GPU-LOAN-OVER"):
        open_handles(frames[0])
    assert [open_handles(one).array.tolist() for one in frames[1:]] == [[1], [2]]


def test_what_a_receiver_holds_stays_and_when_all_is_held_the_next_is_copied(
    gpu: Any, started: Callable[..., Any]
) -> None:
    sender = started(kept=2)
    held = open_handles(sender.frames(values=[7]))
    for number in range(1, 4):
        assert open_handles(sender.frames(at=64, values=[number])).array.tolist() == [number]
    other = open_handles(sender.frames(at=64, values=[3]))
    assert (held.array.tolist(), other.array.tolist()) == ([7], [3])
    told = sender("lend", values=[9], at=128)
    assert told["copied"] == {"receivers hold all 2 tensors of this lender": 1}
    assert decode([bytes.fromhex(frame) for frame in told["frames"]])["t"].tolist() == [9]
    del held
    assert open_handles(sender.frames(at=128, values=[10])).array.tolist() == [10]


def test_a_receiver_that_is_killed_holds_nothing(sender: Any, library: str) -> None:
    code = (
        "import sys; sys.path.append(sys.argv[1]); import cuda_peer; cuda_peer.pretend(sys.argv[2]);"
        "from hopmeter.codecs import decode;"
        "made = decode([bytes.fromhex(word) for word in sys.argv[3:]], 'numpy', share='cuda-ipc');"
        "from hopmeter.codecs.cuda.borrowing import borrow; hold = borrow(bytes.fromhex(sys.argv[4]));"
        "print('held', flush=True); sys.stdin.read()"
    )
    words = [frame.hex() for frame in sender.frames()]
    command = [sys.executable, "-c", code, str(HERE), library, *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == b"held\n"
        assert sender("held")["held"] == 1
        receiver.kill()
    assert sender("held")["held"] == 0


def test_memory_that_cannot_be_exported_is_copied_and_told(
    gpu: Any, sender: Any, caplog: pytest.LogCaptureFixture
) -> None:
    told = [sender("lend", base="pool", values=[number], exportable=False) for number in (1, 2)]
    ((reason, count),) = told[1]["copied"].items()
    assert (reason.startswith("this memory is not from cudaMalloc"), count) == (True, 2)
    frames = [bytes.fromhex(frame) for frame in told[1]["frames"]]
    assert PREFIX.unpack_from(frames[0])[2] == 0
    assert decode(frames)["t"].tolist() == [2]
    lender = Lender()
    with caplog.at_level(logging.WARNING, "hopmeter.codecs"):
        for _ in range(2):
            encode(cuda_peer.Tensor(np.arange(2)), lender)
    (said,) = caplog.records
    assert "is copied through the host: cuPointerGetAttribute of the NVIDIA driver: CUDA_ERROR" in said.getMessage()


def test_steps_are_copied_and_nothing_is_lent_of_nothing(gpu: Any) -> None:
    lender, base = Lender(), cuda_peer.allocate()
    steps = cuda_peer.memory(base, (4, 4), "f4")[:, ::2]
    assert decode(encode(cuda_peer.Tensor(steps), lender)).shape == (4, 2)
    assert list(lender.copied) == ["the memory of the tensor is not contiguous"]
    assert decode(encode(cuda_peer.Tensor(steps[:0]), lender)).shape == (0, 2)
    assert sum(lender.copied.values()) == 1


def test_in_the_same_process_the_memory_itself_is_received(gpu: Any) -> None:
    before, lender = gpu.fake_calls(b"open"), Lender(2)
    array = cuda_peer.memory(cuda_peer.allocate(), (3,), "f4")
    array[...] = [1, 2, 3]
    frames = encode([cuda_peer.Tensor(array), 5, cuda_peer.Tensor(array[1:])], lender)
    made, five, tail = decode(copy_frames(frames), "lent", share="cuda-ipc")
    assert (gpu.fake_calls(b"open"), five, lender.held) == (before, 5, 2)
    array[1] = 20
    assert (made.array.tolist(), tail.array.tolist()) == ([1, 20, 3], [20, 3])
    del made, tail
    assert lender.held == 0
    del lender, array, frames
    gc.collect()


def test_one_message_never_takes_a_slot_from_itself(gpu: Any) -> None:
    lender, array = Lender(2), cuda_peer.memory(cuda_peer.allocate(), (3,), "f4")
    array[...] = [1, 2, 3]
    frames = encode([cuda_peer.Tensor(array[at:]) for at in range(3)], lender)
    assert list(lender.copied) == ["one message has more tensors than the lender has free slots (2 in all)"]
    made = decode(frames, share="cuda-ipc")
    assert [one.tolist() for one in made] == [[1, 2, 3], [2, 3], [3]]


def test_a_lender_that_is_closed_lends_no_more_and_its_frames_are_refused(
    gpu: Any, started: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    sender = started()
    frames, held = sender.frames(), None
    sender("close")
    with pytest.raises(CodecError, match=r"E-GPU-LENDER-HIDDEN|E-GPU-LOAN\]"):
        open_handles(frames)
    lender, array = Lender(), cuda_peer.memory(cuda_peer.allocate(), (3,), "f4")
    held = decode(encode(cuda_peer.Tensor(array), lender), "lent", share="cuda-ipc")
    lender.close()
    lender.close()
    assert "closes while receivers hold 1 of its tensors" in caplog.text
    assert held.array.shape == (3,)
    assert decode(encode(cuda_peer.Tensor(array), lender)).shape == (3,)
    assert list(lender.copied) == ["this lender is closed"]


@pytest.mark.parametrize("kept", [0, -1, 2**20])
def test_a_lender_keeps_a_number_that_can_be(kept: int) -> None:
    with pytest.raises(CodecError, match=r"1 to 4096.*E-VALUE-RANGE"):
        Lender(kept)


FORKING = """
import os, sys
sys.path.append(sys.argv[1])
import cuda_peer
cuda_peer.pretend(sys.argv[2])
from hopmeter.codecs import Lender, encode
from hopmeter.codecs.cuda.borrowing import borrow
hold, lender = borrow(bytes.fromhex(sys.argv[3])), Lender()
tensor = cuda_peer.Tensor(cuda_peer.memory(cuda_peer.allocate(), (4,), "f4"))
child = os.fork()
if not child:
    encode(tensor, lender)
    hold.close()
    os._exit(0 if list(lender.copied) == ["a forked process cannot use the GPU of its parent"] else 1)
print(os.waitpid(child, 0)[1], flush=True)
sys.stdin.read()
"""


def test_a_forked_child_neither_lends_nor_gives_back(sender: Any, library: str) -> None:
    command = [sys.executable, "-c", FORKING, str(HERE), library, sender.frames()[1].hex()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"0\n"
        assert sender("held")["held"] == 1
        parent.stdin.close()
    assert sender("held")["held"] == 0


def test_bfloat16_and_other_frameworks(gpu: Any, started: Callable[..., Any]) -> None:
    if install_hint("jax"):
        pytest.skip(install_hint("jax"))
    import jax

    array = cuda_peer.memory(cuda_peer.allocate(), (2,), "<i2")
    array[...] = np.array([1.5, -2], "f4").view("u4") >> 16
    ghost = cuda_peer.nodes.ghosts.Ghost(array, 0, "bfloat16")
    frames = encode(jax.dlpack.from_dlpack(ghost), Lender())
    assert PREFIX.unpack_from(frames[0])[2] == 1
    for as_ in (None, *(name for name in ("paddle", "torch") if not install_hint(name))):
        made = decode(frames, as_, share="cuda-ipc")
        assert str(made.dtype).endswith("bfloat16")
        assert [float(number) for number in made] == [1.5, -2]
    del made
    gc.collect()
