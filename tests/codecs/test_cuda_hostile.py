"""Tests for forged GPU memory handles: each raises the same error, and no handle stays open."""

from __future__ import annotations

import gc
import json
import random
from collections.abc import Callable
from typing import Any

import cuda_peer
import pytest
from carrying import open_handles

from hopmeter.codecs import CodecError, Lender, decode, encode
from hopmeter.codecs.cuda import driver, wire
from hopmeter.codecs.cuda.mappings import MAPPINGS
from hopmeter.codecs.header import PREFIX

pytestmark = pytest.mark.slow


def lie(frame: bytes, **told: Any) -> bytes:
    return wire.pack(wire.unpack(frame)._replace(**told))


LIES: dict[str, tuple[dict[str, Any], str]] = {
    "another machine": ({"host": bytes(16)}, "E-GPU-ELSEWHERE"),
    "a process that is not there": ({"pid": 2**22 + 1}, "E-GPU-LENDER-GONE"),
    "a process that is another": ({"started": 1}, "E-GPU-LENDER-GONE"),
    "another file of the process": ({"ledger": 0}, "E-GPU-LOAN|E-GPU-LENDER-HIDDEN"),
    "no file": ({"ledger": 2**31}, "E-GPU-LENDER-HIDDEN"),
    "another ledger": ({"token": bytes(16)}, r"E-GPU-LOAN\]"),
    "an older loan": ({"number": 99}, "E-GPU-LOAN-OVER"),
    "no slot": ({"slot": 2**32 - 1}, "E-GPU-LOAN-OVER"),
    "a GPU that is not here": ({"device": b"Z" * 16}, "E-GPU-HIDDEN"),
    "no handle": ({"handle": bytes(64)}, "CUDA_ERROR_INVALID_HANDLE.*E-GPU-DRIVER"),
    "more than the allocation": ({"allocation": 2**40, "offset": 2**16, "size": 16}, "65536.*E-GPU-HANDLE"),
    "one byte more": ({"allocation": 2**40, "offset": 2**16 - 15, "size": 16}, "65536.*E-GPU-HANDLE"),
    "another size": ({"size": 12}, "12.*16.*E-FRAME-LENGTH"),
    "a huge size": ({"allocation": 2**63, "size": 2**62}, "E-GPU-HANDLE"),
}


@pytest.mark.parametrize("name", LIES)
@pytest.mark.parametrize("as_", ["lent", "numpy"])
def test_lies_are_refused_and_leave_nothing_open(name: str, as_: str, gpu: Any, sender: Any) -> None:
    head, lent = sender.frames()
    before = gpu.fake_calls(b"open") - gpu.fake_calls(b"close")
    with pytest.raises(CodecError, match=LIES[name][1]):
        open_handles([head, lie(lent, **LIES[name][0])], as_)
    assert gpu.fake_calls(b"open") - gpu.fake_calls(b"close") == before
    assert (len(MAPPINGS), sender("held")["held"]) == (0, 0)


def test_lies_about_this_process_are_refused(gpu: Any) -> None:
    lender, array = Lender(), cuda_peer.memory(cuda_peer.allocate(), (4,), "f4")
    head, lent = encode([cuda_peer.Tensor(array)], lender)
    for told in ({"token": bytes(16)}, {"slot": 9}, {"number": 3}, {"size": 8}):
        with pytest.raises(CodecError, match="E-GPU-LOAN"):
            decode([head, lie(lent, **told)], share="cuda-ipc")
    assert lender.held == 0


def test_a_frame_of_another_form_is_refused(gpu: Any, sender: Any) -> None:
    head, lent = sender.frames()
    for damaged in (b"", lent[:-1], lent + b"\0", b"X" + lent[1:], lent[:4] + b"\2" + lent[5:]):
        with pytest.raises(CodecError, match=r"176.*E-FRAME-LENGTH|E-VERSIONS-DIFFER"):
            open_handles([head, damaged])
    for told in ({"number": 0}, {"size": 0}, {"unused": 1}, {"offset": 2**16}, {"offset": 2**64 - 1}):
        with pytest.raises(CodecError, match="E-GPU-HANDLE"):
            open_handles(
                [head, wire.LAYOUT.pack(wire.MAGIC, 1, *wire.Lent(*wire.LAYOUT.unpack(lent)[2:])._replace(**told))]
            )


NODES = [
    ["cuda.memory"],
    ["cuda.memory", 3],
    ["cuda.memory", ["list", []]],
    ["cuda.memory", ["array", "os", 1, 2, 3, 4]],
]
NODES += [["cuda.memory", ["array", "numpy", dtype, [4], "C", None]] for dtype in ("|O", "<f3", "float8_e4m3fn", 7)]
NODES += [["cuda.memory", ["array", "lent", "<f4", shape, "C", None]] for shape in ([5], [2**62], [-1], 3)]


@pytest.mark.parametrize("node", NODES, ids=lambda node: json.dumps(node)[:60])
def test_nodes_that_lie_are_refused(node: Any, gpu: Any, sender: Any) -> None:
    body = json.dumps(node).encode()
    with pytest.raises(CodecError):
        decode([PREFIX.pack(b"HOPC", 1, 1, 0, 1, len(body)) + body, sender.frames()[1]], share="cuda-ipc")
    assert len(MAPPINGS) == 0


def test_random_damage_gives_a_tensor_or_the_one_error(gpu: Any, sender: Any) -> None:
    dice, (head, lent) = random.Random(7), sender.frames()
    for _ in range(2000):
        damaged = bytearray(lent)
        for _ in range(dice.randint(1, 3)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        try:
            open_handles([head, damaged])
        except CodecError:
            continue
    gc.collect()
    assert (len(MAPPINGS), sender("held")["held"]) == (0, 0)


def test_a_sender_that_has_ended_is_told(gpu: Any, started: Callable[..., Any]) -> None:
    sender = started()
    frames = sender.frames()
    sender.end()
    with pytest.raises(CodecError, match=rf"process {sender.pid}, .*E-GPU-LENDER-GONE"):
        open_handles(frames)


def test_without_a_driver_a_receiver_is_told_to_ask_for_copies(sender: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "LIBRARY", "libcuda-of-nobody.so.1")
    with pytest.raises(CodecError, match=r"libcuda-of-nobody.*E-GPU-DRIVER"):
        decode(sender.frames(), share="cuda-ipc")
    assert sender("held")["held"] == 0


def test_a_driver_without_gpus_is_told_by_name(gpu: Any, sender: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDA", "")
    driver._load.cache_clear()
    with pytest.raises(CodecError, match=r"cuInit .*CUDA_ERROR_NO_DEVICE.*E-GPU-DRIVER"):
        open_handles(sender.frames())
