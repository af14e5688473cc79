"""Tests for the texts that list the nodes on each host."""

from __future__ import annotations

import pytest

from hopmeter.report.words.host_words import describe_placement, host_lines, hosts_sentence, name_hosts
from tests.report.rows import cell, print_table, run_of

CHAIN = cell("tcp", 100, hosts="a>b>c", relays=5)


def test_a_chain_has_a_line_for_each_host_and_a_sentence() -> None:
    run = run_of(CHAIN)
    (row,) = run.rows
    assert host_lines(row.cell) == ["a  source, relay 3, sink", "b  relays 1 and 4", "c  relays 2 and 5"]
    said = "Hosts: a runs source, relay 3, sink; b runs relays 1 and 4; c runs relays 2 and 5."
    assert hosts_sentence([row]) == said and said in print_table(run)


def test_chains_of_different_lengths_are_described_together() -> None:
    run = run_of(CHAIN, {**CHAIN, "relays": 0})
    assert hosts_sentence(run.rows) == "Hosts: nodes one by one on a, b and c."
    assert hosts_sentence(run_of(cell("tcp", 100)).rows) == ""


@pytest.mark.parametrize(
    ("hosts", "words", "short"),
    [
        ("a>b", "nodes one by one on a and b", "on a and b"),
        ("camera:a motor:b view:a", "camera and view on a; motor on b", "on a and b"),
    ],
)
def test_a_placement_in_words(hosts: str, words: str, short: str) -> None:
    assert (describe_placement(hosts), name_hosts(hosts)) == (words, short)
