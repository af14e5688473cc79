"""The study's words, what is believed of the other end, and when a listener stops waiting."""

from __future__ import annotations

import time

import pytest

from hopmeter.byhand import brokers
from hopmeter.byhand.serving import Worker
from hopmeter.manifest.discovery import find_transports


def test_of_the_other_end_s_environment_only_what_the_manifest_names_is_believed() -> None:
    manifest = find_transports(["ros1"])["ros1"]
    said = {"address": "", "environment": {"ROS_MASTER_URI": "http://127.0.0.1:1", "LD_PRELOAD": "/tmp/bad.so"}}
    assert brokers.Broker.heard(manifest, said).environment == {"ROS_MASTER_URI": "http://127.0.0.1:1"}
    assert brokers.Broker.heard(manifest, {"environment": "none"}).environment == {}


@pytest.mark.parametrize("work", ["sleep:2ms", "spin:2ms"])
def test_a_server_s_work_takes_no_less_than_its_time_by_the_coefficient(work: str) -> None:
    worker, began_ns = Worker(work), time.monotonic_ns()
    worker.answer({"frame": None, "coef": 1.5})
    assert time.monotonic_ns() - began_ns >= 3_000_000


def test_a_server_answers_the_frame_and_refuses_what_asks_nothing() -> None:
    worker = Worker("spin:1us")
    assert worker.answer({"frame": "as it was", "coef": 2}) == "as it was"
    assert worker.calls == 1
    for wrong in ("frame", {"coef": 1}, {"frame": 1, "coef": -1}):
        with pytest.raises(ValueError, match="send"):
            worker.answer(wrong)
