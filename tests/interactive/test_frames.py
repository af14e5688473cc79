"""Tests for the options and samples of `hopmeter ask`, without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hopmeter.errors import UsageError
from hopmeter.hosts.protocol.greeting import HostError
from hopmeter.interactive import asker_results
from hopmeter.interactive.asker import read_offer, read_trial
from hopmeter.interactive.asker_results import Answers, lines
from hopmeter.interactive.frame_times import CALL, join_frames, read_calls
from hopmeter.interactive.frames_scenario import Frames, Server, make_scenario, multiply_work
from hopmeter.model.cell import Cell
from hopmeter.model.trial import TrialResult
from hopmeter.store.run_folder import RunFolder
from hopmeter.store.samples import NONE_NS, SCHEMA
from tests.cells import cell
from tests.coded import refuses

LEFT, RIGHT, OTHER = (
    Server("left", "zeromq", "sleep:30ms"),
    Server("right", "zeromq", "spin:50ms"),
    Server("o", "tcp", "none"),
)


@pytest.mark.parametrize(
    ("work", "coef", "expected"),
    [
        ("none", 10, "none"),
        ("sleep:30ms", 10, "sleep:300000000ns"),
        ("spin:0.5us", 0.5, "spin:250ns"),
        ("copy:1000:rep:cold", 1.5, "copy:1500:rep:cold"),
        ("copy:frame", 1, "copy:frame"),
    ],
)
def test_a_factor_multiplies_the_work(work: str, coef: float, expected: str) -> None:
    assert multiply_work(Server("left", "zeromq", work), coef) == expected


def test_a_frame_has_no_multiple() -> None:
    with refuses(UsageError, "E-OPTION-CONFLICT left --coef"):
        multiply_work(Server("left", "zeromq", "copy:frame"), 2)


def test_servers_of_one_transport_are_a_scatter_whose_threads_are_pairs() -> None:
    made = make_scenario(Frames("image:8x6", 7, threads=3, sequential=True), [LEFT, RIGHT])
    assert (made.pattern, made.sinks, made.pairs, made.messages) == (["scatter"], [2], [3], 7)
    assert (made.work, made.dispatch, made.pace) == (["sleep:30ms/spin:50ms"], ["sequential"], ["closed"])
    assert make_scenario(Frames("image:8x6"), [LEFT]).pattern == ["rpc"]


def test_servers_of_two_transports_have_a_client_for_each_and_common_due_times() -> None:
    made = make_scenario(Frames("image:8x6", 7, coef=2), [LEFT, OTHER, RIGHT])
    flows = {name: (each.call, each.work, each.transport) for name, each in made.flow.items()}
    works = "sleep:60000000ns/spin:100000000ns"
    assert flows == {"zeromq": (["left", "right"], works, "zeromq"), "tcp": (["o"], "none", "tcp")}
    rate = made.flow["tcp"].rate
    assert rate == made.flow["zeromq"].rate and rate and 5 < rate < 1000 / 100


@pytest.mark.parametrize("more", [{"sequential": True}, {"threads": 2}])
def test_two_transports_are_not_called_one_by_one_or_by_threads(more: dict[str, Any]) -> None:
    with refuses(UsageError, "E-SERVERS-DIFFER zeromq tcp"):
        make_scenario(Frames("image:8x6", **more), [LEFT, OTHER])


def test_a_frame_lasts_until_its_last_reply_and_needs_all_of_them() -> None:
    calls = np.array(
        [
            (0, 0, 0, 10, 11, 40, 5),
            (0, 1, 0, 9, 12, 35, 5),
            (0, 1, 1, 50, 51, 60, 5),
            (1, 0, 0, 20, 21, 30, 5),
            (1, 1, 0, 20, 21, 31, 5),
        ],
        CALL,
    )
    assert join_frames(calls, 2).tolist() == [(0, 0, 9, 40), (0, 1, 20, 31)]
    found = Answers(Frames("image:8x6"), [LEFT, RIGHT], (8, 6), calls, np.zeros(1, CALL))
    assert found.frame_times_ns().tolist() == [31, 11] and found.exit_code == 1
    assert "requests without a reply: 1" in [*lines(found)]


def test_percentiles_count_requests_without_a_reply() -> None:
    calls = np.array([(0, 0, seq, 0, 0, 1_000_000 * (1 + seq), 5) for seq in range(80)], CALL)
    unanswered = np.array([(0, 0, seq, 0, 0, NONE_NS, NONE_NS) for seq in range(80, 100)], CALL)
    found = Answers(Frames("image:8x6", 100), [LEFT], (8, 6), calls, unanswered)
    assert (found.lost, found.lost_calls(0), found.lost_frames) == (20, 20, 20)
    together, left = asker_results.rows(found)
    assert together[5:7] == left[5:7] == ["50.50", "lost"]
    assert asker_results.describe(found)["lost_each"] == {"all at once": 20, "left": 20}


def test_the_samples_of_a_server_fit_to_its_replies_whatever_it_sends(tmp_path: Path) -> None:
    """One of the two servers claims to have answered a request that was never sent."""
    client = [
        {"seq": seq, "copy": copy, "due_ns": 1, "sent_ns": 2, "arrived_ns": 9} for seq in (0, 1) for copy in (0, 1)
    ]
    client[3]["arrived_ns"] = None
    servers = [
        [{"seq": 0, "arrived_ns": 103, "forwarded_ns": 107}, {"seq": 2**63 + 5, "arrived_ns": 1, "forwarded_ns": 2}],
        [{"seq": 2**62, "arrived_ns": 1, "forwarded_ns": 2}, {"seq": 1, "arrived_ns": 203, "forwarded_ns": None}],
    ]
    with pq.ParquetWriter(tmp_path / "samples.parquet", SCHEMA) as writer:
        for endpoint, found in enumerate([client, *servers]):
            rows = [dict.fromkeys(SCHEMA.names) | {"endpoint": endpoint, "copy": 0} | row for row in found]
            writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
    calls, unanswered = read_calls(tmp_path / "samples.parquet", cell(pattern="scatter", sinks=2), [LEFT, RIGHT])
    assert len(unanswered) == 1
    assert calls[["server", "seq", "hold_ns"]].tolist() == [(0, 0, 4), (1, 0, NONE_NS), (0, 1, NONE_NS)]


@pytest.mark.parametrize(
    ("client", "trial", "expected"),
    [
        ({}, {"good": True}, (0, False, "", "")),
        ({"content_errors": 2, "malformed": 1}, {"good": True}, (3, False, "", "")),
        ({"limit_reached": True}, {"good": True}, (0, False, "not all frames were sent", "")),
        ({}, {"good": False, "reason": "interrupted [E-STOPPED]"}, (0, True, "", "")),
        (
            {},
            {"good": False, "reason": "left is gone [E-HOST-GONE]", "remedy": "look"},
            (0, False, "E-HOST-GONE", "look"),
        ),
    ],
)
def test_a_trial_tells_of_wrong_replies_and_why_it_ended(
    tmp_path: Path, client: dict[str, Any], trial: dict[str, Any], expected: tuple[int, bool, str, str]
) -> None:
    counts = {"role": "client", "content_errors": 0, "malformed": 0, "limit_reached": False} | client
    server = {"role": "server", "content_errors": 9, "malformed": 9, "limit_reached": False}
    folder = RunFolder.create(tmp_path, "run", {})
    folder.add_trial(TrialResult("c", 0, nodes=[{"endpoints": [counts]}, {"endpoints": [server]}], **trial), [])
    asked = Answers(Frames("image:8x6"), [LEFT, RIGHT], (8, 6))
    found = read_trial(asked, folder, cast("Cell", None))
    wrong, interrupted, *said = expected
    assert (found.wrong, found.interrupted) == (wrong, interrupted)
    assert all(word in found.failure for word in said) and bool(found.failure) == any(said)
    assert found.exit_code == 1, "nothing was measured"


@pytest.mark.parametrize(
    "offer",
    [
        {},
        {"transport": "zeromq"},
        {"transport": "../x", "work": "none"},
        {"transport": "tcp", "work": 5},
        {"transport": "tcp", "work": "nap:\x1b[31m"},
    ],
)
def test_a_hostile_offer_is_refused(offer: dict[str, Any]) -> None:
    with pytest.raises((HostError, UsageError)) as refused:
        read_offer("left", offer)
    assert "\x1b" not in str(refused.value)
