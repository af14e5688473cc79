"""Encoding times, decoding times and deadline misses of each flow in one process are as planned over `synthetic`."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.coded import lacking
from tests.command import hopmeter
from tests.known_truth.workloads import HEAD, Trial, measure_workload

DELAY_US = 200_000
"""How far planned hits and misses are from the deadline."""
PLAN = f"delay_us = {DELAY_US}, late_every = 10, late_us = 1000000"
OBJECTS = """
[participant]
camera = { language = "python" }
detector = { language = "python" }
[flow]
numbers = { from = "camera", to = "detector", rate = 40, payload = "array:20x30", codec = "numpy", deadline = "700ms" }
pixels = { from = "camera", to = "detector", rate = 20, payload = "image:40x30", codec = "pickle-in-band" }
raw = { from = "camera", to = "detector", rate = 20, payload = "bytes:5000" }
seen = { from = "detector", to = "camera", after = "pixels", payload = "image:16x12", codec = "numpy" }
ask = { from = "camera", call = "detector", rate = 5, payload = "array:10x10", codec = "numpy" }
[path]
around = { flows = ["pixels", "seen"] }
"""
SIZES = {"numbers": 20 * 30 * 8 + 128, "raw": 5000, "seen": 16 * 12 * 3 + 128, "ask": 10 * 10 * 8 + 128}
ENCODED = ["numbers", "pixels", "seen"]
"""The flows whose receivers decode objects."""


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return measure_workload(tmp_path_factory.mktemp("objects"), OBJECTS, PLAN, drain="2500ms")


def test_each_flow_carries_its_own_object_and_none_is_wrong(objects: Trial) -> None:
    assert {name: objects.rows[name]["payload_bytes"] for name in SIZES} == SIZES
    codecs = {name: objects.rows[name]["codec"] for name in ("numbers", "pixels", "raw", "seen", "ask")}
    assert codecs == {"numbers": "numpy", "pixels": "pickle-in-band", "raw": "none", "seen": "numpy", "ask": "numpy"}
    assert [(row["lost"], row["content_errors"]) for row in objects.rows.values()] == [(0, 0)] * 7


@pytest.mark.parametrize("flow", ENCODED)
def test_a_message_is_encoded_travels_as_long_as_planned_and_is_decoded(objects: Trial, flow: str) -> None:
    sent, encoded = objects.times(flow, 0, "sent_ns"), objects.times(flow, 0, "encoded_ns")
    arrived, decoded = objects.times(flow, 1, "arrived_ns"), objects.times(flow, 1, "decoded_ns")
    assert len(sent) == len(arrived) == objects.rows[flow]["received"] >= 20
    for seq in sent:
        assert sent[seq] < encoded[seq] <= arrived[seq] - 1000 * DELAY_US
        assert arrived[seq] < decoded[seq]
    row = objects.rows[flow]
    assert row["encode_count"] == row["decode_count"] == row["service_count"]
    assert row["service_min_us"] >= row["encode_min_us"] + DELAY_US + row["decode_min_us"]


def test_bytes_beside_objects_are_not_encoded(objects: Trial) -> None:
    assert objects.rows["raw"]["received"] == 20
    assert objects.rows["raw"]["encode_p50_us"] is None and objects.rows["raw"]["decode_p50_us"] is None
    assert set(objects.times("raw", 0, "encoded_ns").values()) == {None}
    assert set(objects.times("raw", 1, "decoded_ns").values()) == {None}


def test_exactly_the_planned_objects_miss_their_deadline(objects: Trial) -> None:
    assert (objects.rows["numbers"]["missed"], objects.rows["numbers"]["missed_in_a_row"]) == (4, 1)
    due, decoded = objects.times("numbers", 0, "due_ns"), objects.times("numbers", 1, "decoded_ns")
    assert [seq for seq in due if decoded[seq] - due[seq] > 700_000_000] == [9, 19, 29, 39]


def test_a_path_of_objects_ends_when_the_last_is_decoded(objects: Trial) -> None:
    causes = objects.causes("seen", "pixels")
    assert sorted(causes.values()) == list(range(20)), "late messages are overtaken, but each has its effect"
    due, decoded = objects.times("pixels", 0, "due_ns"), objects.times("seen", 1, "decoded_ns")
    fastest_us = min(decoded[seq] - due[causes[seq]] for seq in causes) / 1000
    assert fastest_us >= 2 * DELAY_US
    assert objects.rows["around"]["reaction_min_us"] == pytest.approx(fastest_us)


def test_the_caller_of_a_call_decodes_the_reply(objects: Trial) -> None:
    row = objects.rows["ask"]
    assert row["received"] == 5
    assert row["decode_min_us"] > 0
    assert row["response_min_us"] >= 2 * DELAY_US


def test_exactly_the_planned_objects_and_bytes_are_wrong(tmp_path: Path) -> None:
    flows = "\n".join(line for line in OBJECTS.splitlines() if not line.startswith(("seen", "ask", "around", "[path]")))
    settings = "checksum = true\nsettings.synthetic = { corrupt_every = 10 }\n"
    (tmp_path / "workload.toml").write_text(HEAD + settings + flows)
    done = hopmeter("run", tmp_path / "workload.toml", "--out", tmp_path / "run", "--no-report", "--json")
    assert done.returncode == 1, done.stderr
    (row,) = [row for row in pq.read_table(tmp_path / "run/cells.parquet").to_pylist() if not row["flow"]]
    assert row["content_errors"] == 4 + 2 + 2
    assert lacking(row["reason"], "E-CONTENT 8") == []
