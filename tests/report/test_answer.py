"""The answer of a report claims only what the intervals resolve."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.row_order import ranks
from hopmeter.analysis.results.run_results import Run
from hopmeter.report.answer import answer, groups_in_answer
from hopmeter.report.answers.comparison_sentences import details, lead
from hopmeter.report.sections import group_section
from hopmeter.report.tables import run_tables
from hopmeter.report.tables.page import on_page
from hopmeter.report.words import formatting
from tests.report.rows import cell, in_rounds, run_of


def answer_text(run: Run) -> str:
    tables = groups([run])
    named = [group.id for group in groups_in_answer([run], tables)]
    lines = [line for group in tables for line in run_tables.answer_lines(group, group.id in named)]
    return " ".join([*answer([run], tables), *lines])


def test_a_gap_between_intervals_names_the_fastest_and_how_far_the_next_is_at_least() -> None:
    said = answer_text(run_of(cell("unix", 20, 19, 21), cell("shm", 10, 9, 10.5)))
    assert said.startswith(
        "For a 92-byte message at 1,000\N{NARROW NO-BREAK SPACE}Hz, shm is fastest; unix is next, and "
    )
    assert "takes at least 1.81 times as long" in said  # 19 / 10.5, and not 20 / 10
    assert "half of the messages arrived within 10.0\N{NARROW NO-BREAK SPACE}µs" in said


def test_intervals_that_touch_are_a_tie() -> None:
    said = answer_text(run_of(cell("shm", 10, 9, 12), cell("unix", 13, 12, 14), cell("zenoh", 30, 29, 31)))
    assert "shm and unix do not differ significantly" in said
    assert "fastest" not in said
    assert "zenoh is next, and takes at least 2.4 times as long" in said


def test_without_intervals_no_order_is_settled() -> None:
    said = answer_text(run_of(cell("shm", 10), cell("unix", 1000)))
    assert "the rows have no rank" in said
    assert "fastest" not in said


def test_a_rival_without_an_interval_is_not_beaten() -> None:
    said = answer_text(run_of(cell("shm", 10, 9, 11), cell("unix", 1000)))
    assert "do not differ significantly" in said


def test_many_groups_count_only_what_is_resolved() -> None:
    rows = [
        cell(name, p50 * rate, low * rate, high * rate, rate_hz=rate)
        for rate in (1.0, 2.0, 3.0, 4.0)
        for name, p50, low, high in (("shm", 10, 9, 11), ("unix", 20, 19 if rate < 4 else 1, 21))
    ]
    run = run_of(*rows)
    assert (
        " ".join(answer([run], groups([run])))
        == "Of 4 comparisons, shm was fastest in 3; in the other 1, no row is significantly faster than all others."
    )


def objects(*p50s: tuple[str, str, float]) -> Run:
    return run_of(
        *(cell(name, p50, p50 * 0.98, p50 * 1.02, codec=codec, payload="array:200x200") for name, codec, p50 in p50s)
    )


def test_codecs_are_compared_over_each_transport() -> None:
    said = answer_text(
        objects(("shm", "numpy", 60), ("shm", "pickle", 160), ("zeromq", "numpy", 180), ("zeromq", "pickle", 182))
    )
    assert "array 200×200 at 1,000\N{NARROW NO-BREAK SPACE}Hz over shm, numpy is fastest" in said
    assert "pickle is next, and takes at least 2.6 times as long" in said  # 160 x 0.98 / (60 x 1.02)
    assert "over zeromq, numpy and pickle do not differ significantly" in said


def test_many_transports_of_many_codecs_are_one_sentence() -> None:
    rows = [(name, codec, p50) for name in "abcd" for codec, p50 in (("numpy", 10.0), ("json", 90.0))]
    assert answer_text(objects(*rows)).startswith(
        "Codecs over each transport: Of 4 comparisons, numpy was fastest in 4."
    )


def test_saturated_and_unranked_rows_never_win() -> None:
    said = answer_text(
        run_of(
            cell("tcp", 1, 1, 1, status="saturated"), cell("synthetic", 1, 1, 1, ranked=False), cell("shm", 10, 9, 11)
        )
    )
    assert " shm is the only ranked row: half of the messages" in said
    assert "tcp could not keep up" in said


def test_a_quick_look_says_so() -> None:
    assert "quick look" in answer_text(run_of(cell("shm", 10, 9, 11), quick=True))
    assert "quick look" in answer_text(run_of(cell("shm", 10, 9, 11, quick=True)))
    assert "quick look" not in answer_text(run_of(cell("shm", 10, 9, 11)))


def test_a_quick_look_names_the_command_that_decides() -> None:
    command = ["hopmeter", "run", "--transport", "shm,unix", "--trials=3", "--out", "one two", "--seed", "7"]
    run = run_of(cell("shm", 10, 9, 11), quick=True, command=command)
    run.trials = [{"cell": "c0", "trial": 0, "good": True, "wall_s": 10.0}]
    assert "run `hopmeter run --transport shm,unix --trials 12`, which takes about 2 min" in answer_text(run)


def test_a_precision_that_was_requested_says_whether_it_was_reached() -> None:
    rows = [cell("shm", 10.0, 9.8, 10.3), cell("tcp", 10.0, 9.5, 11.2), cell("unix", 10.0)]
    said = re.sub(r"\s", " ", answer_text(run_of(*rows, scenario={"until": "±5%", "budget": "60s"})))
    assert (
        "1 of 3 medians reached ±5 %; the widest interval is that of tcp (Rust), ±12 %; 1 median has no interval"
        in said
    )
    assert "To come closer to ±5% for every median, run" in said and "--budget 120s" in said
    reached = re.sub(r"\s", " ", answer_text(run_of(rows[0], scenario={"until": "±5%"})))
    assert (
        "1 of 1 median reached ±5 %; the widest interval is that of shm (Rust), ±3.0 %" in reached
        and "A longer" not in reached
    )
    assert "reached it" not in answer_text(run_of(*rows, scenario={"until": "order"}))


def levels_in_rounds(levels: dict[str, float], references: tuple[str, ...] = (), **more: Any) -> Run:
    made = [cell(name, us, 0.9 * us, 1.1 * us, installable=name not in references) for name, us in levels.items()]
    return in_rounds(*made, drift=0.5, **more)


def test_rounds_give_a_ratio_with_its_interval_and_what_does_not_differ() -> None:
    said = answer_text(levels_in_rounds({"zenoh": 10.0, "nng": 22.0, "zeromq": 22.1, "mqtt": 90.0}))
    (low, high) = map(
        float, re.search(r"zenoh is fastest; nng is next, and takes ([\d.]+) to ([\d.]+) times", said).groups()
    )
    assert 2 <= low <= 2.2 <= high < 2.4
    assert "nng and zeromq do not differ significantly from each other." in said
    assert re.search(
        r"Undecided pairs: nng and zeromq \(one may take up to 1\.0\d times as long as the other; .*rounds would", said
    )


def test_the_answer_and_the_tables_have_each_sentence_once() -> None:
    levels = (("nng", 80.0, False), ("zenoh", 60.0, False), ("nng", 20.0, True), ("zenoh", 30.0, True))
    run = run_of(*(cell(name, us, us - 1, us + 1, no_idle_states=awake) for name, us, awake in levels))
    said = answer_text(run)
    assert said.count("is fastest; ") == 1 and said.count("half of the messages") == 2
    many = run_of(*(cell(name, us, us - 1, us + 1, rate_hz=us) for us in range(10, 14) for name in ("nng", "zenoh")))
    assert answer_text(many).count("do not differ significantly") == 4


def test_a_ratio_that_may_be_huge_is_not_printed() -> None:
    said = answer_text(levels_in_rounds({"zenoh": 10.0, "nng": 12.0}, rounds=4, noise=1.0))
    assert "one may still take more than 10 times as long as another" in said


def test_a_tie_says_how_large_the_ratio_may_be_and_the_command_that_decides() -> None:
    levels, command = {"zenoh": 10.0, "nng": 10.2, "mqtt": 90.0}, ["hopmeter", "run", "mine", "--trials", "8"]
    said = answer_text(levels_in_rounds(levels, command=command))
    assert re.search(
        r"zenoh and nng do not differ significantly: nng takes at most 1\.0\d times as long as zenoh", said
    )
    assert re.search(r"mqtt is next, and takes [\d.]+ to [\d.]+ times as long", said)
    needed = re.search(r"Undecided pairs: zenoh and nng \(about (\d+) rounds would decide\)", said)
    assert needed and f"`hopmeter run mine --trials {needed[1]}`" in said


def test_cores_as_they_are_and_kept_awake_are_one_question_with_a_line_on_whose_case_it_is() -> None:
    levels = (("nng", 80.0, False), ("zenoh", 60.0, False), ("nng", 20.0, True), ("zenoh", 30.0, True))
    run = run_of(*(cell(name, us, us - 1, us + 1, no_idle_states=awake) for name, us, awake in levels))
    said = answer([run], groups([run]))
    assert " with idle cores kept awake, nng is fastest" in said[0]
    assert "With idle cores as they are, the medians are zenoh 60.0" in said[1] and "zenoh is fastest." in said[1]
    assert said[2].startswith("If your programs idle between messages")
    alone = run_of(*(cell(name, us, us - 1, us + 1) for name, us, _ in levels[:2]))
    assert not any("awake" in each for each in answer([alone], groups([alone])))
    asleep = [{"subject": "idle states", "level": "hurts"}]
    alone.about["doctor"] = asleep
    assert any("--no-idle-states" in each for each in answer([alone], groups([alone])))


def test_a_table_that_only_shows_the_level_claims_no_order() -> None:
    levels = (("nng", 80.0, False), ("zenoh", 60.0, False), ("nng", 20.0, True), ("zenoh", 30.0, True))
    rows = [cell(name, us, us - 1, us + 1, no_idle_states=awake) for name, us, awake in levels]
    found = groups([run_of(*rows, scenario={"no_idle_states": "both"})])
    (level,) = [group for group in found if not group.conditions["no_idle_states"]]
    assert "the medians are zenoh 60.0" in lead(level) and "fastest" not in lead(level) and details(level) == []


def test_what_failed_is_said_with_the_answer() -> None:
    said = answer_text(
        run_of(cell("shm", 10, 9, 11), cell("unix", 20, 19, 21), {"transport": "tcp", "status": "failed"})
    )
    assert "tcp failed." in said


def test_nothing_measured_is_said() -> None:
    assert "No cell" in answer_text(run_of({"transport": "shm", "status": "failed"}))


def test_a_row_alone_takes_no_place_and_stands_beside_the_floor() -> None:
    run = run_of(cell("unix", 20, 19, 21, floor="c1", times_floor=2.0), cell("shm", 10, 9, 11, ranked=False))
    (group,) = groups([run])
    assert [rank.text for rank in ranks(group)] == [""]
    said = answer_text(run)
    assert "unix is the only ranked row: " in said
    assert "No other library was measured. Medians of the references, for comparison: shm 10.0" in said


def test_a_reference_is_never_recommended_and_stands_apart() -> None:
    run = run_of(
        cell("zenoh", 50, 49, 51),
        cell("shm", 10, 9, 11, installable=False),
        cell("nng", 90, 89, 91),
        cell("unix", 20, 19, 21, installable=False),
    )
    said = answer_text(run).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert " zenoh is fastest; nng is next, and takes at least 1.75 times as long" in said
    assert "Medians of the references, for comparison: shm 10.0 µs and unix 20.0 µs." in said
    (group,) = groups([run])
    (table,) = group_section.section(group, []).tables
    assert [body.title for body in table.bodies] == ["", "Floors and references"]
    names = [[line.values[1].text for line in body.lines] for body in table.bodies]
    assert names == [["zenoh", "nng"], ["shm", "unix"]]


def test_the_ratio_of_a_reference_is_that_of_the_table() -> None:
    run = levels_in_rounds({"zenoh": 10.0, "nng": 22.0, "shm": 4.0, "unix": 8.2}, references=("shm", "unix"))
    said = answer_text(run)
    known = run.rankings[run.rows[0].cell.group]
    shm, unix = (known.columns(cell) for cell in ("c2", "c3"))
    words = re.search(
        r"the references take these multiples of the time of zenoh: shm ([\d.]+) (\S+) and unix ([\d.]+) ", said
    )
    assert words and words[1] == formatting.number(shm["ratio_to_best"]) and words[3].startswith("0.8")
    assert words[2] == formatting.ratio_bracket(shm["ratio_to_best_low"], shm["ratio_to_best_high"])
    assert unix["rank_low"] is None and "zenoh is fastest; nng" in said


def test_references_alone_are_ranked_among_themselves_and_named_so() -> None:
    rows = [cell("shm", 10, 9, 11, installable=False), cell("unix", 20, 19, 21, installable=False)]
    said = answer_text(run_of(*rows))
    assert " shm is fastest" in said and "For comparison" not in said
    assert "they are ranked only against each other." in said
    beside_floor = answer_text(run_of(*rows, cell("memory", 1, ranked=False, installable=False)))
    assert (
        " shm is fastest" in beside_floor and "Medians of the references, for comparison: memory 1.00" in beside_floor
    )
    alone = answer_text(run_of(rows[1], cell("memory", 1, ranked=False, installable=False)))
    assert "unix is the only ranked row" in alone and "No library was measured." in alone


def test_references_beside_a_failed_library_have_medians_and_no_rank() -> None:
    failed = {"transport": "zenoh", "status": "failed"}
    run = run_of(failed, cell("shm", 10, 9, 11, installable=False), cell("unix", 20, 19, 21, installable=False))
    said = answer_text(run)
    assert "the medians are shm 10.0" in said and "for comparison only" in said and "zenoh failed." in said
    assert not ranks(groups([run])[0])


def test_a_table_of_saturated_rows_has_no_valid_latency() -> None:
    (group,) = groups([run_of(cell("zenoh", 10, 9, 11, status="saturated"))])
    assert "no transport has a valid latency." in lead(group)
    assert details(group) == ["zenoh could not keep up, so it has no rank."]


def test_ways_of_copying_the_same_frame_stand_side_by_side() -> None:
    ways = {"memcpy:warm": 600.0, "stream:cold": 500.0, "bytes:fresh": 5000.0}
    rows = [cell("memory", us + 9, work=f"copy:frame:{way}", copy_p50_us=us) for way, us in ways.items()]
    others = [cell("memory", 9.0), cell("memory", 700.0, work="copy:frame/none", copy_p50_us=1.0)]
    said = answer_text(run_of(*rows, *others)).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "memory (Rust): stream cold 500 µs, memcpy warm 600 µs, bytes fresh 5,000 µs." in said
    assert "comparison" not in said
    assert "Medians of a copy" not in answer_text(run_of(rows[0], *others))


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.4951, "0.495"), (0.9998, "1.00"), (9.996, "10.0"), (99.96, "100"), (999.6, "1,000"), (0.0, "0"), (None, "–")],
)
def test_numbers_have_three_digits_also_where_rounding_makes_one_more(value: float | None, said: str) -> None:
    assert formatting.number(value).replace("\N{NARROW NO-BREAK SPACE}", "") == said


def test_the_report_shows_the_empty_hop_of_a_row_and_explains_it_below_the_table() -> None:
    (group,) = groups([run_of(cell("libxr", 1.7, empty_hop_us=0.32), cell("memory", 1.0))])
    table = on_page(group_section.section(group, []).tables[0])
    names = [line.values[1] for line in table.lines]
    notes = {name.text: " ".join(name.notes) for name in names}
    assert "empty hop 0.320" in notes["libxr"] and "empty hop" not in notes["memory"]
    assert "Empty hop: the time from sent to arrived" in table.caption
    (without,) = groups([run_of(cell("memory", 1.0))])
    assert "Empty hop" not in group_section.section(without, []).tables[0].caption
