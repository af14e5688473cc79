"""Tests for the study's column names, incomplete results, and the latencies of `publish` and `listen`."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopmeter.cli.parts.meeting_options import addresses, meeting_point_of
from hopmeter.cli.publish import spread
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.interactive import plugins
from hopmeter.interactive.publisher import Publisher
from hopmeter.interactive.results import Outcome, Results, figures, is_queue
from hopmeter.interactive.study import Side, check_same, find_pairs
from hopmeter.store.samples import NONE_NS, TIMES
from hopmeter.system.terminal import Console
from tests.coded import refuses

OPTIONS: dict[str, float] = {"width": 2, "height": 3, "trials": 4, "skip": 1, "rate": 100.0}


def test_several_values_may_follow_one_option() -> None:
    words = ["--plugins", "pillow", "numpy", "--mwares", "zeromq,ros1", "--width", "200"]
    assert spread(words) == [
        *("--plugins", "pillow", "--plugins", "numpy", "--mwares", "zeromq", "--mwares", "ros1", "--width", "200")
    ]


def test_the_names_of_the_study_are_known() -> None:
    assert plugins.transport_name("ros") == "ros1"
    names = ["numpy", "pandas", "pyarrow", "xarray", "dask", "pillow", "tensorflow", "jax", "pytorch", "pytorch_gpu"]
    names += ["paddle", "paddle_gpu", "cupy_gpu", "zarr", "pint"]
    assert {plugins.plugin_name(name) for name in names} <= plugins.PLUGINS.keys()
    assert '"numpy"' in plugins.why_no_plugin("nunpy")
    assert plugins.why_no_plugin("numpy") == ""
    assert plugins.why_no_plugin("mxnet_gpu")


def test_an_address_belongs_to_a_transport() -> None:
    assert addresses(["mqtt=127.0.0.1:1883"], ["mqtt", "unix"], "--broker") == {"mqtt": "127.0.0.1:1883"}
    assert addresses(["127.0.0.1:1883"], ["mqtt"], "--broker") == {"mqtt": "127.0.0.1:1883"}
    with refuses(UsageError, "E-OPTION-VALUE NAME=ADDRESS"):
        addresses(["127.0.0.1:1883"], ["mqtt", "nats"], "--broker")


def test_each_pair_that_cannot_be_measured_has_its_reason() -> None:
    listener = Side.here(OPTIONS, ["ros", "unix", "tcp"], ["numpy", "nosuch"])
    publisher = Side.here(OPTIONS, ["unix", "tcp"], ["pytorch", "numpy"])
    assert listener.label("ros1") == "ros"
    found = find_pairs(publisher, listener, one_machine=True)
    assert list(found) == [(one, other) for one in ("unix", "tcp", "ros1") for other in ("torch", "numpy", "nosuch")]
    assert found["unix", "numpy"] is None
    unknown = found["unix", "nosuch"]
    assert unknown is not None and unknown.side == "listener" and "nosuch" in unknown.reason
    away = find_pairs(publisher, listener, one_machine=False)
    assert away["tcp", "numpy"] is None
    assert "[E-ONE-MACHINE]" in str(away["unix", "numpy"])


def test_different_options_are_named_and_what_the_other_side_tells_is_checked() -> None:
    side = Side.here(OPTIONS, ["unix"], ["numpy"])
    assert Side.of(side.as_message()).options == OPTIONS
    with refuses(UsageError, "E-OPTIONS-DIFFER --trials"):
        check_same(side, Side.here({**OPTIONS, "trials": 5}, ["unix"], ["numpy"]))
    wrong: list[dict[str, Any]] = [
        {"options": {**OPTIONS, "width": -1}},
        {"options": {**OPTIONS, "rate": float("nan")}},
        {"transports": ["a" * 1000]},
        {"plugins": [7]},
        {"plugins": ["a"] * 1000},
        {"brokers": {"mqtt": 7}},
        {"absent": []},
    ]
    for each in wrong:
        with pytest.raises(ValueError, match="is no"):
            Side.of({**side.as_message(), **each})
    shown = Side.of({**side.as_message(), "absent": {"numpy": "\x1b[31mred"}}).absent
    assert shown == {"numpy": " [31mred"}


def test_what_a_coordinator_tells_names_no_file_and_nonsense_is_refused(tmp_path: Path) -> None:
    point, side = meeting_point_of("pair", "study", tmp_path, None, None), Side.here(OPTIONS, ["unix"], ["numpy"])
    results = Results("publisher", tmp_path / "out", Console(quiet=True))
    publisher = Publisher(point, side, results, lambda _: None)
    met = {"kind": "pair", "name": "study", **side.as_message()}
    for wrong in ({"kind": 7}, {"options": 5}, {"plugins": None}, {"absent": "x"}, {"brokers": {"a": []}}):
        with pytest.raises(ValueError, match="is no"):
            publisher.meet({**met, **wrong})
    with refuses(HopmeterError, "E-PEER-OTHER"):
        publisher.meet({**met, "name": "other"})
    assert Side.of(publisher.meet(met)) == replace(side, labels={})
    named = {"transport": "../../away", "plugin": "numpy"}
    told = {"word": "outcome", "side": "", "status": "ok", "reason": "", **named}
    for nonsense in ({"word": "dance"}, {"status": "good"}, {"reason": 7}, {"wrong": "many"}, {"plugin": ["a"]}):
        with pytest.raises(ValueError, match="is no"):
            publisher.note({**told, **nonsense})
    publisher.note({"word": "begin", **named})
    publisher._rows = rows([1.0] * 3)
    publisher.note(told)
    assert [each.rows for each in results.outcomes] == [{}]
    assert not (tmp_path / "out").exists()


def rows(delays_us: Any, period_us: int = 1000) -> dict[str, Any]:
    due = np.arange(len(delays_us)) * period_us * 1000 + 1
    done = due + np.round(np.array(delays_us) * 1000).astype(np.int64)
    times = {"due_ns": due, "sent_ns": due, "arrived_ns": due + 1, "decoded_ns": done}
    nothing = np.full(len(due), NONE_NS)
    return {"seq": np.arange(len(due)), **dict.fromkeys(TIMES, nothing), **times}


def test_percentiles_with_too_few_messages_are_not_shown() -> None:
    found = figures("listener", rows(list(range(1, 2001))))
    assert found["mean"] == 1000.5
    assert found["p50"] == pytest.approx(1000.5)
    assert found["max"] == 2000
    assert found["p99"] == pytest.approx(1980, abs=1)
    assert figures("listener", rows([5.0] * 30))["p99"] is None


def test_lost_messages_are_slower_than_all_others() -> None:
    taken = rows(list(range(1, 81)))
    assert figures("listener", taken, lost=20)["p50"] == figures("listener", rows(list(range(1, 101))))["p50"]
    assert figures("listener", taken, lost=20)["p90"] == math.inf
    assert figures("listener", taken, lost=2)["p99"] == math.inf
    assert figures("listener", taken)["p99"] is None


def test_the_table_of_a_listener_calls_a_percentile_lost_and_a_publisher_loses_none(tmp_path: Path) -> None:
    for side, has_lost in (("listener", True), ("publisher", False)):
        console = Console(width=200)
        results = Results(side, tmp_path / side, console)
        taken = rows(list(range(1, 81))) | {"forwarded_ns": rows(list(range(1, 81)))["decoded_ns"]}
        results.add(Outcome("zeromq", "numpy", "zeromq", "numpy", "ok", rows=taken, sent=100, received=80))
        with console.capture() as said:
            results.show()
        assert ("this percentile has no value" in said.get()) == has_lost


def test_delays_that_grow_are_a_queue() -> None:
    assert is_queue("listener", rows(list(range(100, 300_100, 3000))))
    assert not is_queue("listener", rows([100, 90, 110, 400] * 25))


def test_a_folder_with_another_measurement_is_refused(tmp_path: Path) -> None:
    console = Console(quiet=True)
    Results("listener", tmp_path, console).add(Outcome("unix", "numpy", "unix", "numpy", "ok", rows=rows([1.0] * 3)))
    assert (tmp_path / "listener.csv").read_text().count("unix,numpy") == 3
    with refuses(UsageError, "E-EXISTS --out"):
        Results("listener", tmp_path, console)
