"""Tests for process names in a trial, and for the divisors of a process's values."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.store.processes import rows


def node(*roles: str, sent: int = 0, **used: Any) -> dict[str, Any]:
    endpoints = [{"role": role, "sent": sent, "pacing_ns": 2_000_000} for role in roles]
    return {"endpoints": endpoints, "language": "rust", "pid": 7, "resources": {"user_us": 5, **used}}


def broker() -> dict[str, Any]:
    return {"endpoints": [], "resources": {"user_us": 1}, "facts": {"broker": "nats-server"}, "pid": 8}


def rows_of(*nodes: dict[str, Any]) -> list[dict[str, Any]]:
    return list(rows({"cell": "c1", "trial": 0, "good": True, "nodes": list(nodes)}))


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ([node("source"), node("sink"), broker()], ["source", "sink", "nats-server"]),
        ([node("source"), *[node("relay")] * 3, node("sink")], ["source", "relay 1", "relay 2", "relay 3", "sink"]),
        ([node("source", *["relay"] * 20, "sink")], ["source, 20 relays and sink"]),
        ([node("client"), node("server"), node("server")], ["client", "server 1", "server 2"]),
        ([node("source"), node("sink")] * 2, ["source 1", "sink 1", "source 2", "sink 2"]),
    ],
)
def test_every_process_has_a_name_that_no_other_has(nodes: list[dict[str, Any]], names: list[str]) -> None:
    assert [each["name"] for each in rows_of(*nodes)] == names


def test_a_process_of_a_workload_has_the_name_of_its_participant_and_if_it_has_several_of_its_transport() -> None:
    programs = [("camera", "zeromq"), ("gateway", "zeromq"), ("gateway", "zenoh mode=peer")]
    nodes = [node("source") | {"participant": name, "carrier": carrier} for name, carrier in programs]
    found = [(row["participant"], row["name"]) for row in rows_of(*nodes, broker() | {"carrier": "zenoh"})]
    assert found == [
        ("camera", "camera"),
        ("gateway", "gateway (zeromq)"),
        ("gateway", "gateway (zenoh mode=peer)"),
        (None, "nats-server"),
    ]


@pytest.mark.parametrize(
    ("nodes", "messages"),
    [
        ([node("source", sent=10), node("relay", sent=10), node("sink")], 10),
        ([node("source", sent=10), node("sink")] * 2, 20),
        ([node("client", sent=30), *[node("server", sent=10)] * 3], 10),
        ([node("client", sent=10), node("server", sent=10)] * 2, 20),
    ],
)
def test_a_message_counts_once_whoever_passes_it_on(nodes: list[dict[str, Any]], messages: int) -> None:
    assert {each["messages"] for each in rows_of(*nodes)} == {messages}


def test_readings_become_columns_and_what_was_not_read_is_null() -> None:
    mapped = [["/memfd:ring", 3_000_000], ["/dev/shm/x", 1_000_000]]
    full, bare = rows_of(node("source", interval_ns=2_000_000_000, shared_mappings=mapped), node("sink"))
    assert (full["interval_s"], full["user_us"], full["spun_us"], full["shared_mapped_mb"]) == (2, 5, 2000, 4)
    assert (bare["interval_s"], bare["system_us"], bare["rss_peak_mb"], bare["shared_mapped_mb"]) == (None,) * 4


def test_a_process_that_told_nothing_has_no_row() -> None:
    assert rows_of({"endpoints": [{"role": "source"}]}) == []
