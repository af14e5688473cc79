"""Rows with different languages, builds or versions are compared, but with a note."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.analysis.results.builds import has_debug_build, is_debug_build
from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import Row, Run
from hopmeter.report.advice.lines import RunAdvice
from hopmeter.report.answer import answer
from hopmeter.report.answers.comparison_sentences import lead
from hopmeter.report.answers.unlike_rows import unlike_sentences
from tests.analysis.test_workload_ranking import CALM, CPU, NONE
from tests.report.rows import cell, in_rounds, print_table, run_of
from tests.workload_runs import Made, make_run

QUICK = {"scenario_name": "quick", "scenario": {"language": ["one"]}, "command": ["hopmeter", "run", "quick"]}


def row_in(transport: str, language: str, p50: float, **more: Any) -> dict[str, Any]:
    return cell(transport, p50, p50 * 0.9, p50 * 1.1, language=language, **more)


def mixed_run(**about: Any) -> Run:
    """Return a run in which zenoh has a Rust node and ecal does not."""
    return in_rounds(
        row_in("websocket", "rust", 33),
        row_in("zenoh", "python", 55),
        row_in("ecal", "python", 90),
        row_in("shm", "rust", 10, installable=False),
        **{**QUICK, **about},
    )


def plain(text: str) -> str:
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def sentences(run: Run) -> list[str]:
    return [plain(each) for each in unlike_sentences(groups([run]))]


RAN = (
    "Not comparable: zenoh and ecal ran in Python, which adds time to each message; other rows ran in a compiled "
    "language."
)
ALONE = "ecal has no adapter in a compiled language for such messages."
BUILD = (
    "To measure zenoh in Rust, run `hopmeter build zenoh --language rust` (the first build takes up to 5 min), then "
    "`hopmeter run quick`."
)


def test_the_sentence_names_the_language_of_each_row() -> None:
    said = plain(lead(groups([mixed_run()])[0]))
    assert "websocket (Rust) is fastest; zenoh (Python) is next, and takes" in said
    assert "shm (Rust) takes" in said
    assert said.count("zenoh") == said.count("zenoh (Python)")


def test_what_differs_and_what_it_takes_to_measure_alike_follows_once() -> None:
    assert sentences(mixed_run()) == [RAN, ALONE, BUILD]
    two = in_rounds(*(row_in(name, word, us, rate_hz=rate) for rate in (1000.0, 30.0) for name, word, us in ROWS))
    two.about.update(QUICK)
    assert sentences(two) == [RAN, ALONE, BUILD]


ROWS = (("websocket", "rust", 33.0), ("zenoh", "python", 55.0), ("ecal", "python", 90.0))


def test_report_terminal_and_advice_say_so() -> None:
    run = mixed_run()
    assert {RAN, ALONE, BUILD} <= set(map(plain, answer([run], groups([run]))))
    printed = plain(print_table(run, width=500))
    assert all(each in printed for each in (RAN, ALONE, BUILD))
    advice = RunAdvice(run)
    assert advice.lines["take"].startswith("websocket in Rust, for ")
    assert "the next row, zenoh (Python), takes" in advice.lines["better"]
    assert RAN in plain(advice.lines["changes"])
    assert BUILD.rstrip(".") in map(plain, advice.changes)
    alike = in_rounds(row_in("websocket", "rust", 33), row_in("zenoh", "python", 33), **QUICK)
    assert "To measure zenoh in Rust" in RunAdvice(alike).lines["changes"]


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ((("nng", "rust"), ("zenoh", "rust")), "nng"),
        ((("nng", "python"), ("zenoh", "python")), "nng"),
        ((("nng", "rust"), ("zenoh", "c++")), "nng (Rust)"),
        ((("nng", "rust"), ("nng", "python"), ("zenoh", "rust"), ("zenoh", "python")), "nng (Rust)"),
        ((("nng", "rust>python"), ("zenoh", "c++")), "nng (Rust to Python)"),
    ],
)
def test_rows_of_one_kind_need_no_line(rows: tuple[tuple[str, str], ...], name: str) -> None:
    run = run_of(*(row_in(*each, 10.0 + place) for place, each in enumerate(rows)), **QUICK)
    group = groups([run])[0]
    assert group.short_label(group.rows[0]) == name
    if rows[0][1] != "rust>python":
        assert sentences(run) == []


def test_a_run_that_chose_its_languages_is_repeated_with_one_of_each() -> None:
    chosen = ["hopmeter", "run", "--language", "c++,python", "--seed", "7", "--budget", "1m"]
    (_, command) = sentences(
        in_rounds(
            row_in("zeromq", "c++", 33),
            row_in("zenoh", "python", 55),
            scenario={"language": ["c++", "python"]},
            command=chosen,
        )
    )
    assert command.endswith("then `hopmeter run --budget 1m --language one`.")


def test_several_builds_are_one_command() -> None:
    rows = (row_in("websocket", "rust", 33), row_in("zenoh", "python", 55), row_in("lcm", "python", 60))
    assert sentences(in_rounds(*rows, **QUICK))[1] == (
        "To measure zenoh in Rust and lcm in C++, run `hopmeter build zenoh --language rust && hopmeter build lcm "
        "--language c++` (the first builds take up to 5 min), then `hopmeter run quick`."
    )


def test_a_language_that_cannot_carry_the_message_is_not_proposed() -> None:
    """ros2-wire in Rust sends at most 65 kB, and lcm in C++ does not support callbacks."""
    large = {"payload": "image:1440x1080", "payload_bytes": 4_665_600}
    rows = (row_in("zeromq", "c++", 33, **large), row_in("ros2-wire", "python", 55, **large))
    assert "`hopmeter build ros2-wire --language c++`" in sentences(in_rounds(*rows, **QUICK))[1]
    rows = (row_in("nng", "c++", 33, wait="callback"), row_in("lcm", "python", 55, wait="callback"))
    assert sentences(in_rounds(*rows, **QUICK))[1:] == ["lcm has no adapter in a compiled language for such messages."]


def test_a_debug_build_is_named() -> None:
    builds = {"nng (rust)": "rustc 1.95.0 -O0", "zeromq (rust)": "rustc 1.95.0 -O3"}
    run = in_rounds(row_in("nng", "rust", 33), row_in("zeromq", "rust", 20), builds=builds, **QUICK)
    assert "zeromq is fastest; nng (debug build) is next, and takes" in lead(groups([run])[0])
    assert sentences(run) == [
        "Not comparable: nng (debug build), because a debug build is slower than a release build; `hopmeter build nng "
        "--language rust` makes a release build."
    ]
    assert "nng (debug build)" in groups([run])[0].labels.values()
    assert "nng debug build" in print_table(run)


def test_a_debug_build_is_named_whatever_environment_its_settings_choose() -> None:
    builds = {"nng (rust, kind=a)": "rustc 1.95.0 -O0", "nng (rust, kind=b)": "rustc 1.95.0 -O0"}
    rows = [row_in("nng", "rust", 33, profile=f"kind={kind}") for kind in "ab"]
    run = in_rounds(*rows, row_in("nng", "python", 50), builds=builds, **QUICK)
    assert [has_debug_build(row) for row in run.rows] == [True, True, False]


def test_a_row_names_the_part_of_the_library_with_its_version() -> None:
    versions = {"rmw_a": "rclpy 9.1.2 (kilted, rmw_a 9.3.3)", "rmw_a_b": "rclpy 9.1.2 (kilted, rmw_a_b 4.0.2)"}
    rows = [
        row_in("nng", "rust", 33, library_version=version, profile=f"rmw={rmw}") for rmw, version in versions.items()
    ]
    rows += [row_in("nng", "rust", 40, library_version="nng 1.10.1", profile="rmw=1 depth=10")]
    run = in_rounds(*rows, **QUICK)
    named = sorted(groups([run])[0].label(row) for row in run.rows)
    assert any(name.endswith("rmw=rmw_a 9.3.3") for name in named)
    assert any(name.endswith("rmw=rmw_a_b 4.0.2") for name in named)
    assert any(name.endswith("rmw=1 depth=10") for name in named), "a number is no part of a library"
    assert unlike_sentences(groups([run])) == [], "the settings chose these libraries"


@pytest.mark.parametrize(
    ("build", "is_debug"),
    [
        ("rustc 1.95.0 -O3", False),
        ("rustc 1.95.0 -O0", True),
        ("rustc 1.95.0 -O1 -C target-cpu=native", True),
        ("GNU 12.2.0, x86_64 -O3 -DNDEBUG -O3 -std=c++20", False),
        ("GNU 12.2.0, x86_64 -g -O3 -std=c++20", True),
        ("GNU 12.2.0, x86_64 -O2 -g -DNDEBUG -O3 -std=c++20", False),
        ("GNU 12.2.0, x86_64 -O0 -O3 -std=c++20", False),
        ("Python 3.11.7 (main) [GCC 12.2.0]", False),
        ("unknown", False),
        ("", False),
    ],
)
def test_debug_builds_are_known_by_their_flags(build: str, is_debug: bool) -> None:
    assert is_debug_build(build) == is_debug


def test_several_versions_of_a_library_are_named() -> None:
    """One report contains two runs, before and after an upgrade."""
    runs = [
        in_rounds(row_in("nng", "rust", p50, library_version=version), row_in("tcp", "rust", 50.0), **QUICK)
        for version, p50 in (("nng 1.10.1", 33.0), ("nng 1.11.0", 30.0))
    ]
    (group,) = groups(runs)
    names = " ".join(group.label(row) for row in group.rows)
    assert "nng (nng 1.10.1)" in names and "nng (nng 1.11.0)" in names
    assert unlike_sentences([group]) == [
        "Not comparable: the rows of nng were measured with different library versions: Rust nng 1.11.0 and Rust nng "
        "1.10.1."
    ]


def test_one_version_may_be_written_differently_in_each_language() -> None:
    rows = [row_in("zenoh", word, 30.0, library_version=each) for word, each in VERSIONS.items()]
    assert sentences(run_of(*rows, **QUICK)) == []


VERSIONS = {"rust": "v1.10.2-release", "python": "eclipse-zenoh 1.10.2"}


def test_a_workload_names_the_language_of_its_programs() -> None:
    run = make_run({"nng": Made([1] * 6, CALM, CPU), "zenoh": Made(NONE, CALM, CPU)})
    words = {"nng": "rust", "zenoh": "python"}
    run.rows = [
        Row(run, row.cell.with_values(language=words[row["transport"]]), row.values | {"language": None})
        for row in run.rows
    ]
    assert "zenoh (Python)" in answer([run], groups([run]))[0]
    assert [each.partition(" (the")[0] for each in sentences(run)] == [
        "Not comparable: zenoh ran in Python, which adds time to each message; other rows ran in a compiled language.",
        "To measure zenoh in Rust, run `hopmeter build zenoh --language rust`",
    ]
