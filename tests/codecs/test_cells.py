"""Measure frameworks that .venv does not contain, with real nodes and the real commands."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

from hopmeter import manifest
from hopmeter.codecs.lookup import codecs, own_packages
from hopmeter.manifest.readiness import Readiness, readiness
from hopmeter.node.payloads.forms import forms

LEAST_MEGABYTES = 200
"""A framework that needs more disk space than this limit is not in .venv."""
MESSAGES = 20
PAYLOADS = {"shm": "image:32x16"}
WAITS = {"ros1": "callback"}


def heavy() -> list[str]:
    sizes = {name: getattr(codec, "MEGABYTES", (0, 0))[1] for name, codec in codecs().items()}
    return [name for name, form in forms().items() if form.cpu and sizes[name] >= LEAST_MEGABYTES]


def cases() -> list[tuple[str, str]]:
    """Return the transport and the framework of each case.

    All frameworks are measured over shared memory. Frameworks with a separate environment are also measured together
    with the packages of a transport. PyTorch is also measured in the system Python, whose PyTorch has no CUDA.
    """
    beside = [("zeromq", codec) for codec in heavy() if own_packages(codec)]
    return [*(("shm", codec) for codec in heavy()), *beside, ("ros1", "torch")]


@functools.cache
def state(transport: str, codec: str) -> Readiness:
    one = manifest.find_transports([transport])[transport]
    plain = readiness(one, "python")
    return readiness(one, "python", codec) if plain.ready else plain


Measured = Callable[[str], dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Return a transport's trials by codec; all trials come from one run."""

    @functools.cache
    def run(transport: str) -> dict[str, dict[str, Any]]:
        folder = tmp_path_factory.mktemp(transport) / "run"
        here = [codec for of, codec in cases() if of == transport and state(of, codec).ready]
        axes = {"transport": transport, "codec": ",".join(here), "device": "cpu", "cores": "free", "rate": "50"}
        axes |= {"payload": PAYLOADS.get(transport, "array:20x30"), "wait": WAITS.get(transport, "block")}
        words = [
            *(f"--{name}={value}" for name, value in axes.items()),
            f"--messages={MESSAGES}",
            "--trials=1",
            f"--out={folder}",
        ]
        command = [sys.executable, "-m", "hopmeter", "run", "native-objects", *words]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert (folder / "trials.parquet").exists(), done.stdout + done.stderr
        trials = {row["cell"]: row for row in pq.read_table(folder / "trials.parquet").to_pylist()}
        cells = pq.read_table(folder / "cells.parquet", columns=["cell", "codec"]).to_pylist()
        return {row["codec"]: trials[row["cell"]] for row in cells if row["cell"] in trials}

    return run


@pytest.mark.parametrize(("transport", "codec"), cases())
def test_objects_come_through_a_cell_as_they_were_sent(measured: Measured, transport: str, codec: str) -> None:
    here = state(transport, codec)
    if not here.ready:
        pytest.skip(f"{here.missing}: {here.get}")
    trial = measured(transport)[codec]
    assert trial["good"], trial["reason"]
    assert (trial["received"], trial["lost"]) == (MESSAGES, 0)
    played = [one for node in json.loads(trial["nodes"]) for one in node["endpoints"]]
    (sink,) = (one for one in played if one["role"] == "sink")
    assert sink["content_errors"] == 0
    assert sink["content_checks"] >= MESSAGES
