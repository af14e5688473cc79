"""Messages in three languages cause other messages as planned: several effects of one cause, returns to the sender, and
losses."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.known_truth.workloads import Trial, measure_workload

LANGUAGES = ("rust", "cpp", "python")
PARTICIPANTS = """
[participant]
rust = { language = "rust" }
cpp = { language = "c++" }
python = { language = "python" }
[flow]
"""
NEXT = {"rust": "cpp", "cpp": "python", "python": "rust"}
BEFORE = {after: before for before, after in NEXT.items()}

STREAMS = """
ask-{name} = {{ from = "{before}", call = "{name}", rate = 5 }}
tokens-{name} = {{ from = "{name}", to = "{before}", after = "ask-{name}", repeat = 6, work = "sleep:5ms" }}
ends-{name} = {{ from = "{before}", to = "{after}", after = "tokens-{name}", every = 6 }}
"""
STREAM_PATHS = """
first-{name} = {{ flows = ["ask-{name}", "tokens-{name}"], deadline = "500ms" }}
whole-{name} = {{ flows = ["ask-{name}", "tokens-{name}", "ends-{name}"] }}
"""
CIRCLES = """
ping-{name} = {{ from = "{before}", to = "{name}", pace = "closed", returns = "pong-{name}" }}
pong-{name} = {{ from = "{name}", to = "{before}", after = "ping-{name}" }}
"""
LOSSES = """
frames-{name} = {{ from = "{before}", to = "{name}", rate = 10 }}
objects-{name} = {{ from = "{name}", to = "{after}", after = "frames-{name}" }}
"""
LOSS_PATHS = """
way-{name} = {{ flows = ["frames-{name}", "objects-{name}"], deadline = "95ms" }}
"""
REPEAT = 6
DELAY_NS = 2_000_000
PATIENCE_NS = 300_000_000
LOSE_EVERY = 30


def tables(flows: str, paths: str = "") -> str:
    names = [{"name": name, "before": BEFORE[name], "after": NEXT[name]} for name in LANGUAGES]
    given = "".join(flows.format(**each) for each in names)
    return PARTICIPANTS + given + "[path]\n" + "".join(paths.format(**each) for each in names)


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    folder = tmp_path_factory.mktemp("streams")
    return measure_workload(folder, tables(STREAMS, STREAM_PATHS), "delay_us = 2000")


@pytest.fixture(scope="module")
def circles(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    plan, more = "delay_us = 2000, lose_every = 30", 'patience = "300ms"'
    return measure_workload(tmp_path_factory.mktemp("circles"), tables(CIRCLES), plan, more=more)


@pytest.fixture(scope="module")
def losses(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    plan = "delay_us = 1000, lose_every = 4"
    return measure_workload(tmp_path_factory.mktemp("losses"), tables(LOSSES, LOSS_PATHS), plan)


@pytest.mark.parametrize("name", LANGUAGES)
def test_each_call_causes_the_planned_number_of_messages_with_work_before_each(streams: Trial, name: str) -> None:
    flow, cause = f"tokens-{name}", f"ask-{name}"
    assert streams.causes(flow, cause) == {seq: seq // REPEAT for seq in range(5 * REPEAT)}
    due, sent = streams.times(flow, 0, "due_ns"), streams.times(flow, 0, "sent_ns")
    begun = streams.times(cause, 1, "arrived_ns")
    assert [due[seq] for seq in range(0, 30, REPEAT)] == [begun[seq] for seq in range(5)]
    assert all(due[seq] >= sent[seq - 1] for seq in due if seq % REPEAT), "due when the one before it is sent"
    assert all(sent[seq] - due[seq] >= 5_000_000 for seq in due)
    assert (streams.rows[flow]["received"], streams.rows[flow]["lost"]) == (30, 0)


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_call_is_answered_after_all_that_it_caused_was_sent(streams: Trial, name: str) -> None:
    served, sent = streams.services(f"ask-{name}"), streams.times(f"tokens-{name}", 0, "sent_ns")
    assert all(sent[REPEAT * seq + REPEAT - 1] <= replied for seq, (_, replied) in served.items())


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_reaction_to_a_call_is_its_first_effect_and_each_effect_has_its_age(streams: Trial, name: str) -> None:
    row = streams.rows[f"first-{name}"]
    due = streams.times(f"ask-{name}", 0, "due_ns")
    arrived = streams.times(f"tokens-{name}", 1, "arrived_ns")
    reactions = [arrived[REPEAT * seq] - due[seq] for seq in due]
    ages = [arrived[seq] - due[seq // REPEAT] for seq in arrived]
    assert (row["received"], row["lost"], row["missed"]) == (5, 0, 0)
    assert row["reaction_max_us"] == pytest.approx(max(reactions) / 1000)
    assert row["reaction_min_us"] == pytest.approx(min(reactions) / 1000)
    assert row["data_age_count"] == 5 * REPEAT
    assert row["data_age_max_us"] == pytest.approx(max(ages) / 1000)
    assert row["data_age_min_us"] == pytest.approx(min(reactions) / 1000)


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_sixth_of_six_effects_is_the_last_one(streams: Trial, name: str) -> None:
    assert streams.causes(f"ends-{name}", f"tokens-{name}") == {seq: REPEAT * seq + REPEAT - 1 for seq in range(5)}
    row = streams.rows[f"whole-{name}"]
    due, arrived = streams.times(f"ask-{name}", 0, "due_ns"), streams.times(f"ends-{name}", 1, "arrived_ns")
    assert row["reaction_max_us"] == pytest.approx(max(arrived[seq] - due[seq] for seq in due) / 1000)
    assert row["data_age_count"] == 5


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_next_message_is_due_when_one_has_returned(circles: Trial, name: str) -> None:
    due, sent = circles.times(f"ping-{name}", 0, "due_ns"), circles.times(f"ping-{name}", 0, "sent_ns")
    returned = set(circles.times(f"pong-{name}", 1, "arrived_ns").values())
    resent = [seq for seq in range(1, len(due)) if due[seq] not in returned]
    assert len(due) > 30
    assert resent and all(due[seq] - due[seq - 1] >= PATIENCE_NS for seq in resent)
    assert all(later - earlier >= 2 * DELAY_NS for earlier, later in pairwise(due[seq] for seq in sorted(due)))
    assert all(sent[seq] >= due[seq] for seq in due)


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_message_that_is_lost_on_its_way_there_or_back_counts_as_lost(circles: Trial, name: str) -> None:
    for flow in (f"ping-{name}", f"pong-{name}"):
        row, sent = circles.rows[flow], len(circles.times(flow, 0, "sent_ns"))
        assert row["sent"] == sent and row["lost"] == sent // LOSE_EVERY > 0
        assert row["received"] == sent - row["lost"] and row["abandoned"] == 0
    arrived = circles.times(f"ping-{name}", 1, "arrived_ns")
    assert circles.causes(f"pong-{name}", f"ping-{name}") == dict(enumerate(sorted(arrived)))


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_flow_whose_messages_return_is_measured_for_the_whole_duration(circles: Trial, name: str) -> None:
    due = circles.times(f"ping-{name}", 0, "due_ns")
    assert 400_000_000 < max(due.values()) - min(due.values()) < 1_000_000_000
    assert circles.rows[f"ping-{name}"]["response_min_us"] >= DELAY_NS / 1000


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_lost_trigger_has_no_effect_of_its_own_and_is_a_miss(losses: Trial, name: str) -> None:
    frames, objects = losses.rows[f"frames-{name}"], losses.rows[f"objects-{name}"]
    assert (frames["received"], frames["lost"]) == (8, 2), "3 and 7"
    assert (objects["received"], objects["lost"]) == (6, 2)
    causes = losses.causes(f"objects-{name}", f"frames-{name}")
    assert causes == dict(enumerate([0, 1, 2, 4, 5, 6, 8, 9]))
    row = losses.rows[f"way-{name}"]
    assert (row["received"], row["lost"]) == (9, 1), "the effect of a newer message counts; 9 has no newer one"
    assert row["missed"] == 4, "3 and 7 are lost on the first flow, 4 and 9 on the second"
