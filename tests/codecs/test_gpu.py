"""Tests for tensors on a real GPU: copies through the host, and sharing by handle. Run the tests with `make test-gpu`.

The tests are skipped if the machine has no NVIDIA GPU, or if a framework does not find the GPU.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gpu_peer
import numpy as np
import pytest
from carrying import carry, copy_frames, open_handles
from sender_process import Sender

from hopmeter.codecs import CodecError, Lender, decode, encode, install_hint
from hopmeter.codecs.cuda import driver, nodes, wire
from hopmeter.codecs.cuda.mappings import MAPPINGS
from hopmeter.codecs.lookup import codec_named

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # several processes must share one GPU
HERE = Path(__file__).parent
NAMES = ["torch", "jax", "cupy", "paddle", "tensorflow"]
ROWS = [[1, 2, 3], [4, 5, 6]]


def gpus() -> int:
    """Return the number of GPUs that the driver finds."""
    try:
        return len(driver.driver().uuids)
    except CodecError:
        return 0


pytestmark = [pytest.mark.slow, pytest.mark.skipif(not gpus(), reason="no NVIDIA GPU on this machine")]


def require(name: str) -> None:
    """Skip the test if the framework is not installed or finds no GPU."""
    if why := install_hint(name):
        pytest.skip(why)
    if not codec_named(name).FORM.has_gpu():
        pytest.skip(f"this {name} sees no GPU")


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    require(request.param)
    return str(request.param)


@pytest.fixture(autouse=True)
def nothing_stays_open() -> Iterator[None]:
    yield
    gc.collect()
    assert len(MAPPINGS) == 0


@pytest.fixture(scope="module")
def lending() -> Iterator[Callable[..., Sender]]:
    """Start lending processes, and stop them at the end. All tests share the process without arguments."""
    senders: dict[str, Sender] = {}

    def start(framework: str, kept: int = 16, **environment: str) -> Sender:
        is_shared = kept == 16 and not environment
        key = framework if is_shared else str(len(senders))
        if key not in senders:
            command = [sys.executable, str(HERE / "gpu_peer.py"), framework, str(kept)]
            senders[key] = Sender(command, environment)
        return senders[key]

    yield start
    for sender in senders.values():
        sender.end()


@pytest.fixture
def torch_sender(lending: Callable[..., Sender]) -> Sender:
    require("torch")
    return lending("torch")


def numbers(obj: Any) -> Any:
    for word in ("get", "cpu"):
        if hasattr(obj, word):
            return np.asarray(getattr(obj, word)())
    return np.asarray(obj)


@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "u1", "?", "c8", "i8", "f8"])
def test_a_copy_arrives_on_the_gpu_with_the_same_numbers(name: str, dtype: str) -> None:
    if name == "jax" and dtype in ("i8", "f8"):
        pytest.skip("JAX has them only where it is told to")
    array = (np.arange(12).reshape(3, 4) % 2).astype(dtype)
    made = carry(gpu_peer.gpu_object(name, array))
    assert nodes.on_gpu(made)
    assert numbers(made).dtype == array.dtype
    assert np.array_equal(numbers(made), array)


def test_a_receiver_gets_the_device_that_it_asks_for(name: str) -> None:
    sent = gpu_peer.gpu_object(name, np.ones((2, 3), "f4"))
    assert carry(sent, as_="numpy").tolist() == np.ones((2, 3)).tolist()
    assert nodes.on_gpu(carry(sent, device="gpu"))
    assert nodes.on_gpu(carry(np.ones(3, "f4"), as_=name, device="cuda:0"))
    with pytest.raises(CodecError, match=r"gpu:9.*E-NO-DEVICE"):
        carry(sent, device="gpu:9")
    if name == "cupy":
        with pytest.raises(CodecError, match="E-NO-DEVICE"):
            carry(sent, device="cpu")
    else:
        assert not nodes.on_gpu(carry(sent, device="cpu"))


def test_what_only_pytorch_has_arrives_as_it_was() -> None:
    require("torch")
    import torch

    for dtype in (torch.bfloat16, torch.float8_e4m3fn):
        made = carry(torch.ones(3, 5, device="cuda").to(dtype))
        assert (made.dtype, made.device.type, made.float().sum().item()) == (dtype, "cuda", 15)
    parameter = carry(torch.nn.Parameter(torch.ones(3, device="cuda")))
    assert (type(parameter), parameter.requires_grad, parameter.is_cuda) == (torch.nn.Parameter, True, True)
    strided = torch.arange(12.0, device="cuda").reshape(3, 4).t()
    assert torch.equal(carry(strided), strided)


def lent_frames(sender: Sender, **told: Any) -> list[bytes]:
    """Return the frames of a tensor that is shared by handle. Skip the test if the framework's memory has no handle
    here."""
    said = sender("lend", **told)
    if any("JAX" in reason for reason in said["copied"]):
        pytest.skip("JAX 0.11 allocates memory that has no handle of CUDA IPC")
    assert said["copied"] == {}
    return [bytes.fromhex(frame) for frame in said["frames"]]


def test_a_handle_opens_the_very_memory_of_its_sender(name: str, lending: Callable[..., Sender]) -> None:
    sender = lending(name)
    made = open_handles(lent_frames(sender, values=ROWS), None)
    assert (sender("held")["held"], numbers(made).tolist()) == (1, ROWS)
    if name in ("torch", "cupy") or not install_hint("cupy"):
        sender("change", at=1, value=9)
        assert numbers(made).tolist() == [ROWS[0], [9, 9, 9]]
    del made
    gc.collect()
    assert sender("held")["held"] == 0


@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "u1", "?"])
def test_every_dtype_goes_by_handle(name: str, dtype: str, lending: Callable[..., Sender]) -> None:
    sender = lending(name)
    made = open_handles(lent_frames(sender, values=[[0, 1], [1, 0]], dtype=dtype), None)
    assert numbers(made).dtype == np.dtype(dtype)
    assert numbers(made).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("other", NAMES)
def test_one_framework_receives_the_memory_of_another(name: str, other: str, lending: Callable[..., Sender]) -> None:
    require(name)
    require(other)
    sender = lending(name)
    made = open_handles(lent_frames(sender, values=ROWS), other)
    assert nodes.on_gpu(made)
    assert (numbers(made).tolist(), sender("held")["held"]) == (ROWS, 1)


def test_a_copy_to_the_host_does_not_hold_the_memory(name: str, lending: Callable[..., Sender]) -> None:
    sender = lending(name)
    frames = lent_frames(sender, values=ROWS)
    assert open_handles(frames, "numpy").tolist() == ROWS
    if name != "cupy":
        assert numbers(open_handles(frames, None, device="cpu")).tolist() == ROWS
    gc.collect()
    assert sender("held")["held"] == 0


@pytest.mark.parametrize("make", ["managed_array", "stream_ordered_array"])
def test_memory_without_a_handle_is_copied_and_counted(make: str, lending: Callable[..., Sender]) -> None:
    require("cupy")
    said = lending("cupy", 15)("lend", values=ROWS, make=make)
    ((reason, count),) = said["copied"].items()
    assert ("cudaMalloc" in reason, count) == (True, 1)
    assert (
        numbers(decode(copy_frames([bytes.fromhex(f) for f in said["frames"]]), share="cuda-ipc")["t"]).tolist() == ROWS
    )


def test_expandable_segments_of_pytorch_are_copied_and_counted(lending: Callable[..., Sender]) -> None:
    require("torch")
    sender = lending(
        "torch", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True", PYTORCH_ALLOC_CONF="expandable_segments:True"
    )
    said = sender("lend", values=ROWS)
    assert sum(said["copied"].values()) == 1


def test_a_receiver_holds_memory_that_its_sender_has_dropped(lending: Callable[..., Sender]) -> None:
    require("torch")
    sender = lending("torch", 1)
    made = open_handles(sender.frames(values=[1, 2, 3]), None)
    sender("drop")
    said = sender("lend", values=[7, 8, 9], name="two")
    assert sum(said["copied"].values()) == 1, "the only loan is held"
    assert numbers(made).tolist() == [1, 2, 3]


def test_a_loan_that_is_over_is_refused(lending: Callable[..., Sender]) -> None:
    require("torch")
    sender = lending("torch", 1)
    frames = sender.frames(values=[1, 2, 3])
    sender.frames(values=[4, 5, 6], name="two")
    with pytest.raises(CodecError, match="E-GPU-LOAN-OVER"):
        open_handles(frames, None)


def test_a_sender_that_has_ended_is_told(lending: Callable[..., Sender]) -> None:
    require("torch")
    sender = lending("torch", 2)
    frames = sender.frames(values=[1, 2, 3])
    sender.end()
    with pytest.raises(CodecError, match="E-GPU-LENDER-GONE"):
        open_handles(frames, None)


def test_damaged_handles_are_refused_by_the_driver(torch_sender: Sender) -> None:
    head, lent = torch_sender.frames(values=[1, 2, 3])
    good = wire.unpack(lent)
    for handle in (bytes(64), b"\xff" * 64, good.handle[:8] + bytes(56), good.handle[::-1]):
        with pytest.raises(CodecError, match="E-GPU-"):
            open_handles([head, wire.pack(good._replace(handle=handle))], None)
    beyond = good._replace(allocation=1 << 60, offset=1 << 59)
    with pytest.raises(CodecError, match="E-GPU-HANDLE"):
        open_handles([head, wire.pack(beyond)], None)
    assert numbers(open_handles([head, lent], None)).tolist() == [1, 2, 3]


RECEIVER = """
import json, sys, time
from hopmeter.codecs import CodecError, decode
frames = [bytes.fromhex(frame) for frame in json.loads(sys.argv[1])]
try:
    made = decode(frames, share="cuda-ipc")["t"]
except CodecError as refused:
    sys.exit(refused.code)
print(made.cpu().tolist(), flush=True)
time.sleep(600)
"""


def receiver(frames: list[bytes], **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RECEIVER, json.dumps([bytes(frame).hex() for frame in frames])]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env={**os.environ, **environment}, **pipes)


def test_a_killed_receiver_holds_nothing(torch_sender: Sender) -> None:
    started = receiver(torch_sender.frames(values=[1, 2, 3]))
    assert started.stdout is not None
    assert json.loads(started.stdout.readline()) == [1, 2, 3]
    assert torch_sender("held")["held"] == 1
    started.send_signal(signal.SIGKILL)
    started.communicate()
    assert torch_sender("held")["held"] == 0


def test_a_receiver_that_may_not_see_the_gpu_is_told(torch_sender: Sender) -> None:
    started = receiver(torch_sender.frames(values=[1, 2, 3]), CUDA_VISIBLE_DEVICES="")
    said = started.communicate()[1]
    assert said.split()[-1] in ("E-GPU-DRIVER", "E-GPU-HIDDEN")


def test_a_thousand_handles_leave_no_memory_behind(torch_sender: Sender) -> None:
    import torch

    torch_sender.frames(values=np.ones((512, 512)).tolist())
    before = torch.cuda.mem_get_info()[0]
    for _ in range(1000):
        made = open_handles([bytes.fromhex(f) for f in torch_sender("lend_again")["frames"]], None)
        assert made.shape == (512, 512)
        del made
    gc.collect()
    assert before - torch.cuda.mem_get_info()[0] < 8 << 20


def test_a_tensor_that_is_still_being_computed_arrives_finished(lending: Callable[..., Sender]) -> None:
    """The sender waits until the GPU has finished the computation, whichever stream it runs on."""
    require("torch")
    import torch

    stream, lender = torch.cuda.Stream(), Lender()
    with torch.cuda.stream(stream):
        big = torch.ones(4096, 4096, device="cuda")
        for _ in range(20):
            big = big @ big / 4096
    frames = encode({"t": big}, lender)
    assert stream.query(), "nothing of the stream is left to do"
    made = decode(copy_frames(frames), share="cuda-ipc")["t"]
    assert made.data_ptr() == big.data_ptr()
    assert torch.equal(made, torch.ones_like(made))
    del made
    lender.close()


def test_cells_on_a_gpu_are_measured_copied_and_shared(tmp_path: Path) -> None:
    require("torch")
    words = "run native-objects --full --transport zeromq --codec torch --payload array:200x200 --device gpu"
    shared = "--share none,cuda-ipc --messages 50 --no-report"
    command = [sys.executable, "-m", "hopmeter", *words.split(), *shared.split(), "--out", str(tmp_path / "run")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in said.splitlines() if line.startswith("[RESULT]")]
    assert len(rows) == 2
    for row in rows:
        assert {"status=ok", "received=50", "lost=0"} <= set(row)
