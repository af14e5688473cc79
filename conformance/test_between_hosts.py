"""Test every transport that can reach another machine, between two test hosts connected only by a virtual cable.

The tests check content, order, sizes and calls for each language pair. If the transport has a broker, the broker runs
on the sender's host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.cases import READY, Case, is_in_ring
from conformance.connection import connect, receive_frames, send_while_receiving, seqs
from conformance.node_pool import NodePool
from conformance.scripted_node import NodeDiedError, NodeError, ScriptedNode
from conformance.shared_broker import SharedBroker
from conformance.test_rpc import NATIVE, call, connect_call
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.tables.allowed_words import LANGUAGES
from hopmeter.manifest.tables.setting import OFF, SECURITY
from tests.hosts.keeper import CABLE
from tests.hosts.network import Host, two_hosts

NETWORKED = {manifest.name: manifest for manifest, _ in READY if manifest.network is not None}
SIZES = (0, 1, 1000, 65_536, 1 << 20)


def pairs(manifest: Manifest, hosts: Mapping[str, Host]) -> list[Case]:
    ready = [language for known, language in READY if known is manifest]
    ends = [(one, other) for one in ready for other in ready if one == other or manifest.cross_language]
    wait = {language: next((w for w in manifest.offers[language].waits if w == "block"), "") for language in ready}
    return [
        Case(manifest, one, other, wait[other] or manifest.offers[other].waits[0], manifest.network or {}, hosts=hosts)
        for one, other in ends
    ]


def encrypted_pairs(cases: Sequence[Case]) -> list[Case]:
    """Return, for each kind of encryption, cases in which each language that can encrypt sends encrypted frames to one
    other such language. The list is empty if the transport has no encryption."""
    setting = cases[0].manifest.settings.get(SECURITY)
    if setting is None:
        return []
    kinds, able = [kind for kind in setting.choices or () if kind != OFF], set(setting.languages or LANGUAGES)
    across = [case for case in cases if case.sender != case.receiver and is_in_ring(case)]
    across = [case for case in across if {case.sender, case.receiver} <= able]
    return [replace(case, overrides={**case.overrides, SECURITY: kind}) for kind in kinds for case in across]


def exchange_frames(case: Case, pool: NodePool) -> None:
    """Check that frames of all sizes arrive unaltered and in order, and that the frames use the cable."""
    connection = connect(pool, case)
    before = bytes_on_wire(connection.receivers[0])
    for first in range(0, 50, 10):
        assert connection.sender.send("out", first, 10, 100)["accepted"] == 10
        assert seqs(receive_frames(connection.receivers[0], "in0", 10)) == list(range(first, first + 10))
    sizes = [size for size in SIZES if size <= case.max_bytes]
    for seq, size in enumerate(sizes):
        seen = send_while_receiving(connection.sender, connection.receivers[0], ("out", "in0"), seq, size)
        assert [(frame["seq"], frame["payload_bytes"]) for frame in seen] == [(seq, size)]
    assert bytes_on_wire(connection.receivers[0]) - before >= sum(sizes), "the frames took another way than the wire"


def exchange_calls(case: Case, pool: NodePool) -> None:
    """Check that calls of all sizes return the sent content, and that the calls use the cable."""
    client, server = connect_call(pool, case)
    before, sizes = bytes_on_wire(server), [size for size in SIZES if size <= case.max_bytes]
    for seq, size in enumerate(sizes):
        replies = call(client, server, seq, size)
        assert [(reply["seq"], reply["payload_bytes"]) for reply in replies] == [(seq, size)]
    assert bytes_on_wire(server) - before >= sum(sizes), "the calls took another way than the wire"


def bytes_on_wire(node: ScriptedNode) -> int:
    """Return how many bytes the node's host has received over the cable."""
    lines = Path(f"/proc/{node.process.pid}/net/dev").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.strip().startswith(f"{CABLE}:"))


def exchanges(case: Case) -> list[Callable[[Case, NodePool], None]]:
    """Return the checks for a language pair: frames, and calls if both languages support native calls."""
    patterns = [case.manifest.offers[language].patterns for language in (case.sender, case.receiver)]
    frames = [exchange_frames] if all("pubsub" in each for each in patterns) else []
    has_calls = case.manifest.name in NATIVE and all("rpc" in each for each in patterns)
    return frames + ([exchange_calls] if has_calls else [])


@pytest.mark.slow
@pytest.mark.parametrize("transport", NETWORKED)
def test_each_pair_of_languages_reaches_another_host(transport: str) -> None:
    failures: dict[str, str] = {}
    with two_hosts() as (one, other), closing(SharedBroker(one)) as broker, NodePool(broker) as pool:
        cases = pairs(NETWORKED[transport], {"sender": one, "receiver": other})
        for case in (*cases, *encrypted_pairs(cases)):
            for exchange in exchanges(case):
                try:
                    exchange(case, pool)
                except (AssertionError, NodeError, NodeDiedError) as error:
                    failures[f"{case.label}: {exchange.__name__}"] = f"{type(error).__name__}: {error}"
                    pool.end()
                else:
                    pool.release()
        assert not failures, "\n".join([*(": ".join(each) for each in failures.items()), *map(str, pool.log_tails())])
