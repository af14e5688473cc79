"""Run a workload with objects, bytes, images and a video in one Python process, over real transports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cells import MEASURED
from tests.command import Ran
from tests.images.made import image, pixels, video

pytestmark = pytest.mark.slow

HEAD = """
title = "Objects"
question = "Do the objects and the files of each flow arrive?"
wait = "block"
cores = "free"
duration = "1s"
trials = 1
"""
FLOWS = """
[participant]
camera = { language = "python" }
viewer = { language = "python" }
logger = { language = "c++" }
[flow]
photo = { from = "camera", to = "viewer", rate = 20, payload = "image:photo.png", codec = "numpy" }
film = { from = "camera", to = "viewer", rate = 20, payload = "video:film.mkv", codec = "pickle-in-band" }
snapshot = { from = "camera", to = ["viewer", "logger"], rate = 20, payload = "image:snapshot.png" }
replayed = { from = "logger", to = "camera", rate = 20, payload = "video:16x12:film.mkv", touch = "write+read" }
numbers = { from = "viewer", to = "camera", after = "photo", payload = "array:20x30", codec = "numpy" }
raw = { from = "camera", to = "logger", rate = 20, payload = "bytes:100" }
"""
ENCODED = ("photo", "film", "numbers")
SIZES = {
    "photo": 6 * 10 * 3 + 128,
    "snapshot": 5 * 8 * 3,
    "replayed": 16 * 12 * 3,
    "numbers": 20 * 30 * 8 + 128,
    "raw": 100,
}
Run = Callable[..., Ran]


@pytest.fixture
def files(tmp_path: Path) -> None:
    image(tmp_path / "photo.png", pixels()[0])
    image(tmp_path / "snapshot.png", pixels(height=5, width=8)[0])
    video(tmp_path / "film.mkv", pixels(frames=3))


def rows_by_flow(ran: Ran, transport: str) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    return {row["flow"]: row for row in rows if row["transport"] == transport}


@pytest.mark.usefixtures("files")
def test_each_flow_has_its_own_codec_file_and_object(run_in: Run, tmp_path: Path) -> None:
    (tmp_path / "objects.toml").write_text(f'{HEAD}transport = ["zeromq", "unix"]\nchecksum = true\n{FLOWS}')
    ran = run_in("run", "objects.toml", "--out", "run", "--json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for transport in ("zeromq", "unix"):
        rows = rows_by_flow(ran, transport)
        assert {name: rows[name]["payload_bytes"] for name in SIZES} == SIZES
        for name, row in rows.items():
            assert row["status"] in MEASURED, row["reason"]
            assert (row["content_errors"], row["lost"]) == (0, 0)
            if name:
                assert (row["encode_p50_us"] is not None) == (row["decode_p50_us"] is not None) == (name in ENCODED)
    stored = json.loads((tmp_path / "run/run.json").read_text())["pictures"]
    assert {payload: each["frames"] for payload, each in stored.items()} == {
        "image:photo.png": 1,
        "video:film.mkv": 3,
        "image:snapshot.png": 1,
        "video:16x12:film.mkv": 3,
    }
    report = (tmp_path / "run/report.html").read_text()
    assert "as an object of pickle-in-band" in report
    assert all(f"Encoding, transport, decoding: flow {name}" in report for name in ENCODED)
    assert "at –" not in report


def test_a_transport_that_encodes_itself_gets_the_object_of_each_flow(run_in: Run, tmp_path: Path) -> None:
    flows = """
[participant]
camera = { language = "python" }
viewer = { language = "python" }
[flow]
numbers = { from = "camera", to = "viewer", rate = 10, payload = "array:20x30", codec = "numpy" }
frame = { from = "camera", to = "viewer", rate = 10, payload = "array:8x4", codec = "pandas" }
raw = { from = "camera", to = "viewer", rate = 10, payload = "bytes:5000" }
"""
    (tmp_path / "own.toml").write_text(f'{HEAD}transport = "wrapyfi"\n{flows}')
    ran = run_in("run", "own.toml", "--out", "run", "--no-report", "--json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = rows_by_flow(ran, "wrapyfi")
    assert {name: (row["content_errors"], row["lost"]) for name, row in rows.items()} == dict.fromkeys(
        ("", "numbers", "frame", "raw"), (0, 0)
    )
    assert [rows[name]["received"] for name in ("numbers", "frame", "raw")] == [10, 10, 10]
    assert all(row["encode_p50_us"] is None for row in rows.values())
