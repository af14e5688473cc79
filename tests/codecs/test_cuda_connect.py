"""Publishers, servers and clients share tensors of a fake GPU by handle if `connect` is called with `share`."""

from __future__ import annotations

import gc
from contextlib import suppress
from pathlib import Path
from typing import Any

import cuda_peer
import pytest

import hopmeter
from hopmeter.client import TimedOutError
from hopmeter.codecs import CodecError
from hopmeter.errors import UsageError

PATIENCE_S = 30


def tensor() -> tuple[Any, Any]:
    """Return a tensor in the fake GPU's memory, and the memory itself."""
    array = cuda_peer.memory(cuda_peer.allocate(), (3,), "f4")
    array[...] = [1, 2, 3]
    return cuda_peer.Tensor(array), array


def through(publisher: Any, subscriber: Any, obj: Any) -> Any:
    """Return the received object. The publisher sends the object repeatedly, because the subscriber may connect
    late."""
    for _ in range(PATIENCE_S * 5):
        publisher.send(obj)
        with suppress(TimedOutError):
            return subscriber.receive(timeout_s=0.2)
    raise AssertionError("nothing came")


def test_objects_and_calls_carry_the_memory_itself(gpu: Any, tmp_path: Path) -> None:
    sent, memory = tensor()
    with hopmeter.connect("unix", folder=tmp_path, share="cuda-ipc", kept=3) as house:
        camera = house.publisher("camera")
        subscriber = house.subscriber("camera", as_="lent")
        house.server("same", lambda asked: asked, as_="lent")
        client = house.client("same", as_="numpy")
        made = through(camera, subscriber, {"t": sent})["t"]
        memory[0] = 10
        assert made.array.tolist() == [10, 2, 3]
        del made
        reads = gpu.fake_calls(b"read")
        assert client.call(sent, timeout_s=PATIENCE_S).tolist() == [10, 2, 3]
        assert (gpu.fake_calls(b"read"), camera.copy_reasons) == (reads + 1, {})
    gc.collect()


def test_what_could_not_be_lent_is_told_by_the_publisher(gpu: Any, tmp_path: Path) -> None:
    array = cuda_peer.memory(cuda_peer.allocate(exportable=False), (3,), "f4")
    with hopmeter.connect("unix", folder=tmp_path, share="cuda-ipc") as house:
        camera = house.publisher("camera")
        subscriber = house.subscriber("camera")
        assert through(camera, subscriber, cuda_peer.Tensor(array)).shape == (3,)
        ((reason, count),) = camera.copy_reasons.items()
        assert ("cudaMalloc" in reason, count >= 1) == (True, True)


def test_a_subscriber_that_did_not_ask_is_told_what_to_do(gpu: Any, tmp_path: Path) -> None:
    with (
        hopmeter.connect("unix", folder=tmp_path, share="cuda-ipc") as lending,
        hopmeter.connect("unix", folder=tmp_path) as plain,
    ):
        camera = lending.publisher("camera")
        subscriber = plain.subscriber("camera")
        with pytest.raises(CodecError, match=r"share=.*E-GPU-UNREQUESTED"):
            through(camera, subscriber, tensor()[0])
        assert plain.publisher("other").copy_reasons == {}


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"share": "bogus"}, r"'bogus' .*share=.cuda-ipc.*E-VALUE-CHOICE"),
        ({"share": "cuda-ipc", "kept": 0}, r"1 to 4096.*E-VALUE-RANGE"),
        ({"share": "cuda-ipc", "host": "127.0.0.1"}, r"cuda-ipc.*127\.0\.0\.1.*E-OPTION-CONFLICT"),
    ],
)
def test_what_is_asked_is_checked(asked: dict[str, Any], match: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=match):
        hopmeter.connect("tcp", folder=tmp_path, **asked)
