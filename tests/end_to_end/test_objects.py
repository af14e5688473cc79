"""Run shortened studies of native objects through the real command, and compare the decoded objects with the sent
ones."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cells import MEASURED
from tests.command import Ran

pytestmark = pytest.mark.slow


def test_objects_of_a_scenario_arrive_as_they_were(run_in: Callable[..., Ran]) -> None:
    short = ["--transport=zeromq,unix", "--codec=numpy,pickle-in-band", "--messages=50", "--trials=1"]
    ran = run_in("run", "native-objects", *short, "--payload", "array:200x200", "--rate", "50", "--no-report", "--json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    measured = [row for row in rows if row["status"] in MEASURED]
    assert {(row["transport"], row["codec"], row["device"]) for row in measured} == {
        (transport, codec, "cpu") for transport in ("zeromq", "unix") for codec in ("numpy", "pickle-in-band")
    }
    for row in measured:
        assert (row["content_errors"], row["trials_good"], row["touch"]) == (0, 1, "none")
        assert row["payload_bytes"] == {"numpy": 320128, "pickle-in-band": 320202}[row["codec"]]
        assert row["encode_count"] == row["decode_count"] > 0
        assert row["encode_p50_us"] + row["hop_min_us"] + row["decode_min_us"] < row["service_max_us"]


def test_an_array_is_echoed(run_in: Callable[..., Ran]) -> None:
    words = "run echo-array --transport unix --payload image:80x60 --messages 20 --trials 5 --no-report --json"
    ran = run_in(*words.split())
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [(row["codec"], row["pattern"], row["content_errors"]) for row in rows] == [
        ("numpy", "rpc", 0),
        ("pickle-in-band", "rpc", 0),
    ]
    assert all(row["encode_p50_us"] > 0 and row["decode_p50_us"] > 0 for row in rows)
