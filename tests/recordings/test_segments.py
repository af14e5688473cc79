"""If the clock was set during a recording, one segment is replayed, and the omitted part is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.recordings import parts
from hopmeter.recordings.excerpt import Excerpt, pick, read_excerpt, read_excerpts
from hopmeter.recordings.source import RecordingError, RecordingSource
from tests.coded import refuses

from .made import START_NS, write_in_order
from .mcap_bytes import Sent

MS = 1_000_000
SECOND = 1000 * MS
YEAR = 31_556_952 * SECOND
UNTIMED = "without a valid time, such as those recorded at time 0 before a clock ran"


def replay(folder: Path, times_ns: list[int], span_ns: int = 5 * SECOND) -> Excerpt:
    path = write_in_order(folder / "one.mcap", [Sent("/t", time, b"data") for time in times_ns])
    return read_excerpt(RecordingSource(path, "/t"), span_ns)


def replay_all(folder: Path, messages: list[tuple[str, int]], span_ns: int = 5 * SECOND) -> dict[str, Excerpt]:
    path = write_in_order(folder / "one.mcap", [Sent(topic, time, b"data") for topic, time in messages])
    found = read_excerpts(path, dict.fromkeys({topic for topic, _ in messages}, span_ns))
    return {topic: pick(found, topic) for topic in found}


def steady(start_ns: int, many: int, gap_ns: int = 100 * MS) -> list[int]:
    return [start_ns + number * gap_ns for number in range(many)]


@pytest.mark.parametrize(
    ("first", "then", "jump"),
    [
        (steady(5 * SECOND, 3), steady(START_NS, 60), "forward by 53.9 years"),
        (steady(START_NS - 30 * 86_400 * SECOND, 3), steady(START_NS, 60), "forward by 30 days"),
        (steady(START_NS, 3), steady(START_NS - YEAR, 60), "back by 365 days"),
        (steady(100 * SECOND, 10), steady(1 * SECOND, 60), "back by 99.9 s"),
    ],
)
def test_the_first_part_that_lasts_long_enough_is_replayed(
    tmp_path: Path, first: list[int], then: list[int], jump: str
) -> None:
    found = replay(tmp_path, first + then)
    assert found.times_ns.tolist() == steady(0, 50)
    assert found.numbers.tolist() == list(range(len(first), len(first) + 50))
    assert found.notes == (f"left out {len(first)} messages before the clock jumped {jump}",)


def test_a_jump_after_what_is_replayed_does_not_matter(tmp_path: Path) -> None:
    found = replay(tmp_path, steady(START_NS, 51) + steady(SECOND, 100))
    assert (len(found.times_ns), found.notes) == (50, ())


def test_if_no_part_lasts_long_enough_the_one_with_most_messages_repeats(tmp_path: Path) -> None:
    found = replay(tmp_path, steady(START_NS, 5) + steady(SECOND, 11) + steady(START_NS + YEAR, 3))
    assert found.times_ns.tolist() == steady(0, 11)
    assert found.period_ns == 1100 * MS
    assert found.notes == (
        "left out 5 messages before the clock jumped back by 53.9 years",
        "left out 3 messages after the clock jumped forward by 54.9 years",
    )


@pytest.mark.parametrize("begin", [12_300 * MS, START_NS])
def test_messages_at_time_0_were_recorded_before_a_clock_ran(tmp_path: Path, begin: int) -> None:
    found = replay(tmp_path, [0] * 500 + steady(begin, 3))
    assert found.times_ns.tolist() == steady(0, 3)
    assert found.notes == (f"left out 500 messages {UNTIMED}",)
    assert replay(tmp_path, [0, *steady(begin, 3)]).notes == (f"left out 1 message {UNTIMED}",)


def test_a_clock_may_begin_at_0(tmp_path: Path) -> None:
    found = replay(tmp_path, steady(0, 20))
    assert (found.times_ns.tolist(), found.notes) == (steady(0, 20), ())
    both = replay_all(tmp_path, [("/a", 0), ("/b", 0), ("/b", 10 * MS), ("/a", 20 * MS)])
    assert [(each.times_ns.tolist(), each.notes) for _, each in sorted(both.items())] == [
        ([0, 20 * MS], ()),
        ([0, 10 * MS], ()),
    ]
    alone = replay_all(tmp_path, [("/a", 0), ("/a", 10 * MS), ("/b", 0), ("/b", 20 * MS)])
    assert alone["/b"].times_ns.tolist() == [0, 20 * MS], "topics may be stored one after another"
    assert replay(tmp_path, [0, 0, 0, 10 * MS]).notes == (f"left out 3 messages {UNTIMED}",)
    assert replay(tmp_path, [0]).times_ns.tolist() == [0]


def test_times_after_2262_are_no_times(tmp_path: Path) -> None:
    found = replay(tmp_path, [START_NS, (1 << 64) - 1, START_NS + MS, 1 << 63])
    assert found.times_ns.tolist() == [0, MS]
    assert found.notes == (f"left out 2 messages {UNTIMED}",)


def test_a_silence_is_no_jump_and_is_said_if_nothing_follows_in_the_replay(tmp_path: Path) -> None:
    times = [*steady(START_NS, 3), *steady(START_NS + 1200 * SECOND, 90)]
    found = replay(tmp_path, times)
    assert (found.times_ns.tolist(), found.notes) == (steady(0, 3), ("silent for 20 min after the first 3 messages",))
    assert replay(tmp_path, times, 1201 * SECOND).notes == ()


def test_a_silent_topic_is_no_jump_while_others_have_messages(tmp_path: Path) -> None:
    fast = [("/fast", START_NS + minute * 60 * SECOND) for minute in range(300)]
    slow = [("/slow", START_NS + hour * 7200 * SECOND) for hour in range(2)]
    found = replay_all(tmp_path, sorted(fast + slow, key=lambda each: each[1]), 10_000 * SECOND)
    assert found["/slow"].times_ns.tolist() == [0, 7200 * SECOND]
    assert not found["/slow"].notes and not found["/fast"].notes


def test_topics_of_one_recording_keep_their_offset_and_share_their_period(tmp_path: Path) -> None:
    imu = [("/imu", START_NS + number * 10 * MS) for number in range(100)]
    odometry = [("/odometry", START_NS + 5 * MS + number * 100 * MS) for number in range(10)]
    found = replay_all(tmp_path, sorted(imu + odometry, key=lambda each: each[1]))
    assert found["/odometry"].times_ns.tolist() == steady(5 * MS, 10)
    assert found["/imu"].times_ns.tolist() == steady(0, 100, 10 * MS)
    assert found["/imu"].period_ns == found["/odometry"].period_ns == 1000 * MS


def test_all_topics_are_replayed_from_the_same_part(tmp_path: Path) -> None:
    lap = [(topic, ms * MS) for ms in range(100, 6100, 100) for topic in ("/a", "/b")]
    short = [("/a", 50 * SECOND), ("/b", 50_005 * MS), ("/a", 50_500 * MS)]
    found = replay_all(tmp_path, short + lap)
    assert {topic: len(each.times_ns) for topic, each in found.items()} == {"/a": 50, "/b": 50}
    assert found["/b"].notes == ("left out 1 message before the clock jumped back by 50.4 s",)


def test_a_topic_without_a_message_in_the_replay_says_when_its_first_comes(tmp_path: Path) -> None:
    late = [("/early", START_NS), ("/late", START_NS + 20 * SECOND)]
    with refuses(RecordingError, "E-RECORDING-EMPTY /late 20 s `duration`"):
        replay_all(tmp_path, late)
    lost = [("/lost", SECOND), *[("/t", time) for time in steady(START_NS, 60)]]
    with refuses(RecordingError, "E-RECORDING-EMPTY /lost 1 message before clock"):
        replay_all(tmp_path, lost)


def test_messages_that_are_only_stored_out_of_order_are_sorted(tmp_path: Path) -> None:
    batches = [steady(START_NS + second * SECOND, 10) for second in (4, 0, 2, 1, 5, 3)]
    found = replay(tmp_path, [time for batch in batches for time in batch], 10 * SECOND)
    assert (found.times_ns.tolist(), found.notes) == (steady(0, 60), ())
    assert found.numbers.tolist()[:11] == [*range(10, 20), 30]
    assert found.period_ns == 6 * SECOND


def test_topics_that_are_stored_one_after_another_meet_as_they_were_recorded(tmp_path: Path) -> None:
    first = [("/a", time) for time in steady(START_NS + 3 * SECOND, 50)]
    then = [("/b", time) for time in steady(START_NS, 90)]
    short = replay_all(tmp_path, first + then, 10 * SECOND)
    assert short["/a"].times_ns.tolist() == steady(3 * SECOND, 50)
    assert short["/b"].times_ns.tolist() == steady(0, 90)
    enough = replay_all(tmp_path, first + then, 2 * SECOND)
    assert enough["/a"].times_ns.tolist() == steady(SECOND, 10), "times up to a second before others are sorted"
    assert enough["/b"].times_ns.tolist() == steady(0, 20)
    assert enough["/b"].notes == ("left out 20 messages from before the other topics",)


def test_times_without_any_order_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MOST_SEGMENTS", 5)
    with refuses(RecordingError, "E-RECORDING-TIMES one.mcap 5 times"):
        replay(tmp_path, [START_NS + second * 2 * SECOND for second in (9, 7, 5, 3, 1, 0)], 60 * SECOND)
