"""Calls between processes in three languages follow the plan.

The calls run concurrently, are triggered by messages, go to several servers, or are nested.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.known_truth.workloads import Trial, measure_workload, most_at_once

LANGUAGES = ("rust", "cpp", "python")
WORDS = {"rust": "rust", "cpp": "c++", "python": "python"}
WORK_NS = 50_000_000
LATE_NS = 80_000_000

PARTICIPANT = '{role}-{name} = {{ language = "{language}"{more} }}\n'
AT_ONCE = """
paced-{name} = {{ from = "client-{name}", call = "server-{name}", rate = 40, concurrency = 3, work = "sleep:50ms" }}
ticks-{name} = {{ from = "server-{name}", to = "client-{name}", rate = 40 }}
caused-{name} = {{ from = "client-{name}", call = "pool-{name}", after = "ticks-{name}", concurrency = 4, {slow} }}
parts-{name} = {{ from = "pool-{name}", to = "client-{name}", after = "caused-{name}", repeat = 4, {work} }}
"""
SERVERS = """
both-{name} = {{ from = "client-{name}", call = ["left-{name}", "right-{name}"], rate = 5, work = "sleep:50ms" }}
turns-{name} = {{ from = "client-{name}", call = ["left-{name}", "right-{name}"], rate = 5, dispatch = "sequential" }}
ticks-{name} = {{ from = "left-{name}", to = "right-{name}", rate = 10 }}
once-{name} = {{ from = "right-{name}", call = "client-{name}", after = "ticks-{name}" }}
outer-{name} = {{ from = "client-{name}", call = "left-{name}", rate = 5 }}
middle-{name} = {{ from = "left-{name}", call = "right-{name}", during = "outer-{name}" }}
inner-{name} = {{ from = "right-{name}", call = "last", during = "middle-{name}" }}
"""


def participants(roles: dict[str, str]) -> str:
    """Return participants of each role in each language; a role may have additional keys."""
    return "[participant]\n" + "".join(
        PARTICIPANT.format(role=role, name=name, language=WORDS[name], more=more)
        for name in LANGUAGES
        for role, more in roles.items()
    )


def flows(text: str) -> str:
    works = {"slow": 'work = "sleep:100ms"', "work": 'work = "sleep:20ms"'}
    return "[flow]\n" + "".join(text.format(name=name, **works) for name in LANGUAGES)


@pytest.fixture(scope="module")
def at_once(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """Run overlapping calls to a server that handles one call at a time, and to a server that handles three at a time.

    Every fifth message takes much longer than the others, so replies overtake each other.
    """
    tables = participants({"client": "", "server": "", "pool": ", threads = 3"}) + flows(AT_ONCE)
    plan = "late_every = 5, late_us = 80000"
    return measure_workload(tmp_path_factory.mktemp("at-once"), tables, plan, drain="1s")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    tables = participants(dict.fromkeys(("client", "left", "right"), "")) + "last = {}\n" + flows(SERVERS)
    return measure_workload(tmp_path_factory.mktemp("servers"), tables, "delay_us = 1000")


@pytest.mark.parametrize("name", LANGUAGES)
def test_as_many_calls_are_under_way_as_allowed_and_no_more(at_once: Trial, name: str) -> None:
    assert most_at_once(at_once.calls(f"paced-{name}").values()) == 3
    assert most_at_once(at_once.calls(f"caused-{name}").values()) == 4


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_call_has_its_own_reply_although_replies_overtake_each_other(at_once: Trial, name: str) -> None:
    calls = at_once.calls(f"paced-{name}")
    row = at_once.rows[f"paced-{name}"]
    assert sorted(calls) == list(range(40)) and (row["received"], row["lost"], row["reordered"]) == (40, 0, 0)
    back = [seq for seq, _ in sorted(calls.items(), key=lambda call: call[1][1])]
    assert back != sorted(back)
    served = at_once.services(f"paced-{name}")
    for seq, (sent, arrived) in calls.items():
        begun, replied = served[seq]
        assert sent < begun <= replied - WORK_NS < replied < arrived
        late_ns = LATE_NS if seq % 5 == 4 else 0
        assert begun - sent >= late_ns and arrived - replied >= late_ns


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_response_of_a_call_that_waits_for_others_counts_from_its_due_time(at_once: Trial, name: str) -> None:
    due, calls = at_once.times(f"paced-{name}", 0, "due_ns"), at_once.calls(f"paced-{name}")
    assert all(later - earlier == 25_000_000 for earlier, later in pairwise(due[seq] for seq in sorted(due)))
    waited = [calls[seq][0] - due[seq] for seq in sorted(due)]
    assert waited[-1] > 500_000_000, "40 calls of 50 ms at one server take two seconds, and are due within one"
    row = at_once.rows[f"paced-{name}"]
    assert row["response_max_us"] >= waited[-1] / 1000
    assert row["backlog_ms_per_s"] > 500, "the server needs twice the time that it has"


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_server_handles_calls_of_a_flow_one_by_one_or_as_many_as_it_has_threads(at_once: Trial, name: str) -> None:
    assert most_at_once(at_once.services(f"paced-{name}").values()) == 1
    assert most_at_once(at_once.services(f"caused-{name}").values()) == 3


@pytest.mark.parametrize("name", LANGUAGES)
def test_each_arrival_causes_a_call_that_is_due_at_once(at_once: Trial, name: str) -> None:
    flow, cause = f"caused-{name}", f"ticks-{name}"
    causes = at_once.causes(flow, cause)
    assert sorted(causes) == sorted(causes.values()) == list(range(40))
    due, arrived = at_once.times(flow, 0, "due_ns"), at_once.times(cause, 1, "arrived_ns")
    assert {due[seq] for seq in due} == {arrived[seq] for seq in arrived}
    assert (at_once.rows[flow]["received"], at_once.rows[flow]["lost"]) == (40, 0)


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_server_with_several_threads_streams_several_replies_at_once(at_once: Trial, name: str) -> None:
    causes, due = at_once.causes(f"parts-{name}", f"caused-{name}"), at_once.times(f"parts-{name}", 0, "due_ns")
    sent = at_once.times(f"parts-{name}", 0, "sent_ns")
    by_call = {call: [seq for seq in sorted(causes) if causes[seq] == call] for call in range(40)}
    assert all(len(seqs) == 4 for seqs in by_call.values())
    assert most_at_once((due[seqs[0]], sent[seqs[-1]]) for seqs in by_call.values()) == 3
    assert all(sent[seq] - due[seq] >= 20_000_000 for seq in due)
    assert all(due[later] >= sent[seq] for seqs in by_call.values() for seq, later in pairwise(seqs))


@pytest.mark.parametrize("name", LANGUAGES)
def test_an_arrival_causes_one_call(servers: Trial, name: str) -> None:
    assert servers.causes(f"once-{name}", f"ticks-{name}") == {seq: seq for seq in range(10)}
    due, arrived = servers.times(f"once-{name}", 0, "due_ns"), servers.times(f"ticks-{name}", 1, "arrived_ns")
    assert due == arrived
    assert servers.rows[f"once-{name}"]["received"] == 10


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_call_to_several_servers_goes_to_all_at_once_or_to_one_after_the_other(servers: Trial, name: str) -> None:
    left, right = (servers.calls(f"both-{name}", server) for server in (0, 1))
    assert sorted(left) == sorted(right) == list(range(5))
    assert all(right[seq][0] < left[seq][1] for seq in left), "sent before the other reply is back"
    left, right = (servers.calls(f"turns-{name}", server) for server in (0, 1))
    assert sorted(left) == sorted(right) == list(range(5))
    assert all(right[seq][0] >= left[seq][1] for seq in left)


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_row_of_a_call_to_several_servers_is_that_of_the_last_reply(servers: Trial, name: str) -> None:
    row = servers.rows[f"both-{name}"]
    assert (row["pattern"], row["received"], row["lost"]) == ("scatter", 10, 0)
    assert row["gather_min_us"] >= 52_000 and row["response_min_us"] >= 52_000, "the work, and 1 ms each way"
    assert len(row["servers_roundtrip_p50_us"]) == 2
    assert servers.rows[f"turns-{name}"]["gather_min_us"] >= 4_000, "four ways of 1 ms one after the other"


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_call_during_a_call_during_a_call_is_answered_from_the_inside_out(servers: Trial, name: str) -> None:
    outer, middle, inner = (f"{word}-{name}" for word in ("outer", "middle", "inner"))
    assert servers.causes(middle, outer) == servers.causes(inner, middle) == {seq: seq for seq in range(5)}
    served = [servers.services(outer), servers.services(middle), servers.services(inner)]
    called = [servers.calls(middle), servers.calls(inner)]
    for seq in range(5):
        steps = [served[0][seq][0], called[0][seq][0], served[1][seq][0], called[1][seq][0], *served[2][seq]]
        steps += [called[1][seq][1], served[1][seq][1], called[0][seq][1], served[0][seq][1]]
        assert steps == sorted(steps)
    assert servers.rows[outer]["response_min_us"] >= 6_000, "six ways of 1 ms"
