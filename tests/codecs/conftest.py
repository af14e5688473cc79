from __future__ import annotations

import gc
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE))

import cuda_peer  # noqa: E402 (found where the line above says)
from sender_process import Sender  # noqa: E402

from hopmeter.codecs import lookup, reading  # noqa: E402
from hopmeter.codecs.cuda import driver  # noqa: E402
from hopmeter.codecs.cuda.mappings import MAPPINGS  # noqa: E402


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler: install g++")
    made = tmp_path_factory.mktemp("cuda") / "libfake_cuda.so"
    command = [compiler, "-std=c++20", "-shared", "-fPIC", str(HERE / "fake_cuda.cpp"), "-o", str(made)]
    subprocess.run(command, check=True)
    return str(made)


@pytest.fixture
def gpu(library: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Install a fake GPU in this process, and check that no memory stays mapped."""
    monkeypatch.setattr(driver, "LIBRARY", library)
    monkeypatch.setattr(driver, "DLPACK_DEVICE", 1)
    monkeypatch.setenv("FAKE_CUDA", "AB")
    monkeypatch.setitem(lookup.codecs(), "lent", cuda_peer.PLAIN)  # type: ignore[arg-type]
    driver._load.cache_clear()
    reading.forget()
    cuda_peer.fake().fake_forget()
    yield cuda_peer.fake()
    reading.forget()
    gc.collect()
    left, MAPPINGS._open = dict(MAPPINGS._open), {}
    driver._load.cache_clear()
    assert not left


@pytest.fixture(scope="module")
def started(library: str) -> Iterator[Callable[..., Sender]]:
    senders: list[Sender] = []

    def start(framework: str = "lent", kept: int = 16) -> Sender:
        senders.append(Sender([sys.executable, str(HERE / "cuda_peer.py"), library, framework, str(kept)]))
        return senders[-1]

    yield start
    for sender in senders:
        sender.end()


@pytest.fixture(scope="module")
def sender(started: Callable[..., Sender]) -> Sender:
    return started()
