"""Tests for the limiting resource of concurrent echo pairs, with synthetic rows."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.analysis.cost.pair_limits import REST, echoes, most_pairs
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.sections.limits_table import sentence
from tests.report.rows import cell, run_of

FRAME_BYTES = 6_000_000
COPY_US = 4 * FRAME_BYTES / 10_000
"""The time of the four copies in a round trip, at 10 bytes per nanosecond."""


def echo(transport: str, pairs: int, cpu_us: float, round_trips_hz: float, **more: Any) -> dict[str, Any]:
    asked = {"pattern": "rpc", "pace": "closed", "rate_hz": None, "pairs": pairs, "payload": "bytes:6000000"}
    took = {"roundtrip_p50_us": 1e6 * pairs / round_trips_hz, "cpu_us_per_message": cpu_us, "frame_bytes": FRAME_BYTES}
    speed = {"achieved_mb_s": round_trips_hz * FRAME_BYTES / 1e6}
    return cell(transport, 1.0, **asked, **took, **speed) | more


def run(*rows: dict[str, Any], copies: int | None = 2) -> Run:
    made = run_of(*rows, instrument={"copy_bytes_per_ns": 10.0}, machine={"usable_cores": [0, 1, 2, 3]})
    for row in made.rows:
        object.__setattr__(row, "cell", row.cell.with_values(system_copies=copies))
    return made


@pytest.mark.parametrize(
    ("cpu_us", "round_trips_hz", "tcp_us", "limit"),
    [
        (4000.0, 950.0, 0.0, "cores"),
        (4000.0, 250.0, 0.0, "copies"),
        (8000.0, 120.0, 5000.0, "TCP"),
        (20_000.0, 50.0, 1000.0, REST),
    ],
)
def test_busy_cores_limit_and_else_the_largest_part_of_the_work(
    cpu_us: float, round_trips_hz: float, tcp_us: float, limit: str
) -> None:
    other = [echo("unix", pairs, cpu_us - tcp_us, round_trips_hz) for pairs in (1, 3)]
    made = run(*(echo("tcp", pairs, cpu_us, round_trips_hz) for pairs in (1, 3)), *other)
    one, three = (each for each in echoes([made]) if each.row["transport"] == "tcp")
    assert (one.pairs, three.pairs, three.limit) == (1, 3, limit)
    assert three.busy == pytest.approx(cpu_us * round_trips_hz / 1e6)
    assert three.copying == pytest.approx(COPY_US / cpu_us)
    assert three.tcp == pytest.approx(tcp_us / cpu_us)


def test_the_sentence_has_what_decides_it() -> None:
    made = run(*(echo("unix", pairs, 4000.0, 250.0 * pairs) for pairs in (1, 2, 3)))
    (most,) = most_pairs([made])
    assert sentence(most) == (
        "unix (Rust), 3 pairs: 4,500 MB/s each way (0.450× the copy speed of one core), "
        "limited by copies; 3.00 of 4 cores busy (3.00 wanted); "
        "copying takes 60\N{NARROW NO-BREAK SPACE}% of the CPU time."
    )


@pytest.mark.parametrize(("alone_hz", "limit"), [(340.0, "cores"), (330.0, "copies")])
def test_cores_that_are_nearly_all_busy_limit_pairs_that_want_more_than_there_are(alone_hz: float, limit: str) -> None:
    _, three = echoes([run(echo("unix", 1, 4000.0, alone_hz), echo("unix", 3, 4000.0, 760.0))])
    assert three.wanted_cores == pytest.approx(3 * alone_hz * 0.004)
    assert (three.busy, three.limit) == (pytest.approx(3.04), limit)


def test_of_pairs_that_were_never_alone_is_not_said_what_they_want() -> None:
    two, _ = echoes([run(*(echo("unix", pairs, 4000.0, 760.0) for pairs in (2, 3)))])
    assert (two.wanted_cores, two.limit, "wanted" in sentence(two)) == (None, "copies", False)


def test_one_number_of_pairs_other_patterns_and_what_is_not_known_have_no_limit() -> None:
    assert echoes([run(echo("tcp", 1, 4000.0, 100.0))]) == []
    assert echoes([run(*(echo("tcp", pairs, 4000.0, 100.0, reply="header") for pairs in (1, 2)))]) == []
    assert echoes([run_of(*(echo("tcp", pairs, 4000.0, 100.0) for pairs in (1, 2)))]) == []
    (one, _) = echoes([run(*(echo("tcp", pairs, 4000.0, 100.0) for pairs in (1, 2)), copies=None)])
    assert (one.copying, one.tcp, one.limit) == (None, None, REST)
