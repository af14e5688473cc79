"""Tests for a run's tables: which rows share a table, row names and ranks, and the order of tables."""

from __future__ import annotations

from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.row_order import ranks
from tests.report.rows import cell, run_of


def test_the_table_with_idle_cores_awake_comes_before_the_one_as_it_is() -> None:
    found = groups([run_of(cell("zenoh", 9.0, no_idle_states=False), cell("zenoh", 3.0, no_idle_states=True))])
    assert [group.conditions["no_idle_states"] for group in found] == [True, False]


def test_places_span_what_overlaps() -> None:
    (group,) = groups(
        [
            run_of(
                cell("a", 10, 9, 12), cell("b", 13, 11, 15), cell("c", 16, 14, 18), cell("d", 30, 29, 31), cell("e", 40)
            )
        ]
    )
    # Without an interval, `e` may have any rank, so every other row may have a rank one lower.
    assert [rank.text for rank in ranks(group)] == ["1–3", "1–4", "2–4", "4–5", ""]


def test_only_equal_conditions_share_a_group() -> None:
    run = run_of(
        cell("a", 1), cell("b", 1, wait="spin"), cell("c", 1, rate_hz=10.0), cell("d", 1), cell("e", 1, cores="same")
    )
    assert sorted(tuple(row["transport"] for row in group.rows) for group in groups([run])) == [
        ("a", "d"),
        ("b",),
        ("c",),
        ("e",),
    ]


def test_a_tuned_profile_is_a_row_of_its_own() -> None:
    (group,) = groups([run_of(cell("zeromq", 1), cell("zeromq", 2, profile="hwm=9"))])
    assert [group.label(row) for row in group.rows] == ["zeromq defaults", "zeromq hwm=9"]


def test_the_default_of_a_setting_that_is_varied_has_its_value_in_the_name() -> None:
    rows = [
        cell("queue", 1, settings={"kind": "pipe", "slots": 16}),
        cell("queue", 2, profile="kind=queue"),
        cell("unix", 3),
    ]
    (group,) = groups([run_of(*rows)])
    assert [group.label(row) for row in group.rows] == ["queue kind=pipe", "queue kind=queue", "unix"]


def test_the_same_object_is_compared_also_where_another_version_pickles_it_in_fewer_bytes() -> None:
    asked = {"codec": "pickle-in-band", "payload": "image:800x600", "language": "python"}
    rows = [cell(name, 1.0, payload_bytes=size, **asked) for name, size in (("ros1", 1_440_163), ("tcp", 1_440_164))]
    plain = [cell(name, 1.0, payload_bytes=size) for name, size in (("unix", 64), ("zenoh", 65))]
    found = groups([run_of(*rows, *plain)])
    assert [[str(row["transport"]) for row in group.rows] for group in found] == [["unix"], ["zenoh"], ["ros1", "tcp"]]
    assert found[-1].conditions["payload_bytes"] == 1_440_164
