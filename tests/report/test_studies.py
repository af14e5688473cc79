"""Published study results appear next to the measured results, and intervals decide a study's claims."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter import manifest, scenario
from hopmeter.analysis.results.run_results import Run
from hopmeter.model.columns import CELLS
from hopmeter.report.studies import known
from hopmeter.report.studies.judging import TESTS, Verdict, comparisons, judge
from hopmeter.report.studies.row_values import COMPUTED
from hopmeter.report.studies.study_sections import sections
from hopmeter.report.studies.study_values import tables
from tests.report.rows import cell, run_of

CHAIN = {"placement": "thread", "relays": 20, "payload": "timing", "payload_bytes": 0, "rate_hz": 100.0}


def row(transport: str, language: str, p90: float, around: float | None = 0.05, **more: Any) -> dict[str, Any]:
    ends = (None, None) if around is None else (p90 * (1 - around), p90 * (1 + around))
    own = {"chain_per_hop_p90_us": p90, "chain_per_hop_p90_low_us": ends[0], "chain_per_hop_p90_high_us": ends[1]}
    return cell(transport, p90, *ends, language=language, **CHAIN) | own | more


def claim(text: str) -> known.Claim:
    (found,) = (each for each in known.claims() if text in each.text)
    return found


def verdict_of(text: str, *rows: dict[str, Any]) -> Verdict:
    return judge(claim(text), [run_of(*rows)])


RUST = "Frameworks in Rust are competitive"


@pytest.mark.parametrize(
    ("rust", "answer"),
    [
        (row("thrift", "rust", 50.0), "holds"),
        (row("thrift", "rust", 150.0), "does not hold"),
        (row("thrift", "rust", 60.0, around=0.4), "not resolved"),
        (row("thrift", "rust", 50.0, around=None), "not resolved"),
        (row("grpc", "rust", 50.0), "not measured"),
        (row("thrift", "rust", 50.0, rate_hz=1000.0), "not measured"),
        (row("thrift", "rust", 50.0, status="saturated"), "not measured"),
        (row("thrift", "rust", 50.0, ranked=False), "not measured"),
    ],
)
def test_intervals_decide(rust: dict[str, Any], answer: str) -> None:
    assert verdict_of(RUST, row("thrift", "c++", 46.0), rust).answer == answer


def test_the_numbers_that_decide_stand_beside_the_answer() -> None:
    rows = [
        row("thrift", "c++", 46.0),
        row("thrift", "rust", 138.0),
        row("grpc", "c++", 40.0),
        row("grpc", "rust", 41.0),
    ]
    said = verdict_of(RUST, *rows)
    assert said.answer == "does not hold", "one framework that is not is enough"
    assert "thrift (rust, 100\N{NARROW NO-BREAK SPACE}Hz) 138" in said.numbers
    assert "(131 to 145)" in said.numbers
    assert "3.00×; 1 of 2 comparisons" in said.numbers


def unresolved_row(transport: str, language: str, **more: Any) -> dict[str, Any]:
    """Return a row with few messages: the mean is known, but the median and p90 are not resolved."""
    none = dict.fromkeys(("chain_per_hop_p90_us", "response_p50_us"))
    return row(transport, language, 50.0, None, service_count=3) | none | more


def test_rows_of_too_few_messages_leave_a_claim_open() -> None:
    measured = row("thrift", "c++", 46.0)
    few = verdict_of(RUST, measured, unresolved_row("thrift", "rust"))
    assert few == Verdict("not resolved", "too few messages of thrift (rust, 100\N{NARROW NO-BREAK SPACE}Hz)")
    assert verdict_of(RUST, unresolved_row("thrift", "c++"), unresolved_row("thrift", "rust")).answer == "not resolved"
    assert verdict_of(RUST, measured, unresolved_row("thrift", "rust", service_count=None)).answer == "not measured"
    assert verdict_of(RUST, measured, unresolved_row("thrift", "rust", status="saturated")).answer == "not measured"
    assert verdict_of("P50 and P90 differ little", unresolved_row("thrift", "c++")).answer == "not resolved"
    others = (row("grpc", "c++", 40.0), row("grpc", "rust", 140.0))
    assert verdict_of(RUST, measured, unresolved_row("thrift", "rust"), *others).answer == "does not hold"


def test_rows_of_different_runs_are_not_compared() -> None:
    runs = [run_of(row("thrift", "c++", 46.0)), run_of(row("thrift", "rust", 46.0))]
    assert judge(claim(RUST), runs) == Verdict(
        "not measured", "the rows come from different runs, which are not compared"
    )
    assert judge(claim(RUST), [runs[0], runs[0]]) == Verdict("not measured", "")


def test_the_highest_is_above_every_other() -> None:
    others = [row("zenoh", "rust", 24.0), row("grpc", "c++", 105.0), row("shm", "rust", 900.0)]
    text = "ROS 2 has the highest latency"
    assert verdict_of(text, row("ros2", "c++", 130.0), *others).answer == "holds"
    assert verdict_of(text, row("ros2", "c++", 80.0), *others).answer == "does not hold"
    assert verdict_of(text, row("ros2", "c++", 105.0), *others).answer == "not resolved"
    assert verdict_of(text, *others).answer == "not measured"


def test_settings_that_make_no_difference() -> None:
    text = "The configuration of DDS"
    rows = [row("cyclonedds", "c++", p90, 0.02, profile=name) for name, p90 in (("", 40.0), ("depth=1", 42.0))]
    assert verdict_of(text, *rows).answer == "holds"
    slow = row("cyclonedds", "c++", 80.0, 0.02, profile="reliability=best-effort")
    assert verdict_of(text, *rows, slow).answer == "does not hold"
    assert verdict_of(text, rows[0], row("fastdds", "c++", 40.0, profile="depth=1")).answer == "not measured"


def ros2(p90: float, **settings: Any) -> dict[str, Any]:
    profile = " ".join(f"{name}={value}" for name, value in settings.items())
    return row("ros2", "c++", p90, profile=profile, settings={"executor": "single", "depth": 10, **settings})


def test_a_row_alone_is_told_with_its_settings() -> None:
    said = verdict_of("P50 and P90 differ little", ros2(60.0, executor="multi") | {"chain_per_hop_p50_us": 50.0})
    assert "ros2 (c++, executor=multi, 100" in said.numbers


def test_a_setting_tells_rows_apart() -> None:
    text = "single-threaded executor"
    assert verdict_of(text, ros2(60.0), ros2(113.0, executor="multi")).answer == "holds"
    assert verdict_of(text, ros2(60.0, depth=1), ros2(113.0, executor="multi")).answer == "not measured", (
        "depth differs too"
    )


def test_quality_of_service_is_judged_with_the_executor_alike() -> None:
    text = "The QoS settings make virtually no difference"
    assert verdict_of(text, ros2(100.0), ros2(300.0, executor="multi")).answer == "not measured"
    assert verdict_of(text, ros2(100.0), ros2(101.0, depth=1), ros2(300.0, executor="multi")).answer == "holds"
    assert verdict_of(text, ros2(100.0), ros2(300.0, depth=1)).answer == "does not hold"


def test_a_count_needs_no_interval() -> None:
    text, lossy = "ROS 2 calls lose messages", {"pattern": "rpc", "rate_hz": 1000.0}
    assert verdict_of(text, row("ros2", "c++", 100.0, None, lost=5, **lossy)).answer == "holds"
    assert verdict_of(text, row("ros2", "c++", 100.0, None, **lossy)).answer == "does not hold"


def test_independent_of_the_resolution() -> None:
    def image(size: str, many: int, p50: float) -> dict[str, Any]:
        taken = {"service_p50_us": p50, "service_p50_low_us": p50 * 0.9, "service_p50_high_us": p50 * 1.1}
        shape = {"placement": "thread", "wait": "callback", "payload": f"image:{size}", "payload_bytes": many}
        return cell("ros2", p50, language="c++", rate_hz=30.0, **shape) | taken

    small, text = image("320x240", 230_400, 24.0), "almost independent of the resolution"
    assert verdict_of(text, small, image("1440x1080", 4_665_600, 26.0)).answer == "holds"
    assert verdict_of(text, small, image("1440x1080", 4_665_600, 240.0)).answer == "does not hold"


def test_one_process_against_two_whatever_the_settings() -> None:
    """Within one process, the scenario lets ROS 2 pass pointers; between two processes, the setting has no effect."""
    rows = [
        cell("ros2", p50, placement=placement, profile=profile, payload="image:320x240")
        | {"service_p50_us": p50, "service_p50_low_us": p50 * 0.9, "service_p50_high_us": p50 * 1.1}
        for placement, profile, p50 in (("thread", "intra_process=true", 24.0), ("process", "", 222.0))
    ]
    assert verdict_of("An image takes less time within one process", *rows).answer == "holds"


def test_a_figure_without_numbers_is_not_told_as_not_measured() -> None:
    (part,) = tables([run_of(cell("zeromq", 1, language="python", codec="numpy"), scenario_name="native-objects")])
    assert {here for line in part.lines for here, *_ in line.here} == {("–", "no comparable value; see the claims")}


def test_a_published_figure_stands_beside_what_was_measured() -> None:
    settings = {"transport": "buffered", "protocol": "compact"}
    taken = row("thrift", "rust", 33.0, pattern="rpc", settings=settings)
    run = run_of(taken, scenario_name="mine", machine={"cpu_model": "A processor"})
    (section,) = sections([run])[0].parts
    assert section.fold == "open"
    assert section.tables[-1].columns[-1].title == "here: A processor"
    (part,) = tables([run])
    (line,) = (line for line in part.lines if line.is_measured)
    assert (line.what, line.statistic) == ("thrift (rust)", "P90 per hop")
    assert "rpc, one process, timing, 20 relays, 100" in line.conditions
    assert line.published["i7-9700"].startswith("141")
    assert line.published["Ryzen 5975WX"].startswith("35")
    assert line.here == [[("33.0\N{NARROW NO-BREAK SPACE}µs", "31.3 to 34.6")]]
    assert {line.what for line in part.lines} >= {"ros2 (c++)", "grpc (c++)"}, "others of the same conditions"
    assert all("100\N{NARROW NO-BREAK SPACE}Hz" in line.conditions for line in part.lines)


@pytest.mark.parametrize(
    "other", [{"relays": 0}, {"placement": "process"}, {"payload": "bytes:7"}, {"work": "spin:1us"}]
)
def test_other_conditions_have_no_published_figure(other: dict[str, Any]) -> None:
    assert sections([run_of(row("thrift", "rust", 33.0) | other, scenario_name="mine")]) == []


def test_a_scenario_that_repeats_a_study_shows_it_though_nothing_matches() -> None:
    run = run_of(cell("shm", 5.0, relays=0), scenario_name="message-passing")
    (section,) = sections([run])[0].parts
    claims, values = section.tables
    assert section.fold == "closed"
    assert values.bodies[0].lines
    assert {line.values[1].text for line in claims.bodies[0].lines} == {"not measured"}


def test_an_unrelated_run_shows_no_study() -> None:
    assert sections([run_of(cell("shm", 5.0), scenario_name="quick")]) == []


def test_what_the_studies_said_is_whole() -> None:
    columns = {*CELLS, *COMPUTED}
    for figure in known.published_values():
        study = known.studies()[figure.study]
        assert figure.hardware in study.hardware
        assert figure.column is None or figure.column in columns
        assert figure.value is not None or figure.note
    for each in known.claims():
        assert each.study in known.studies()
        assert each.test in TESTS if each.test else {each.column, each.than_column or each.column} <= columns
    assert {each.name for each in known.studies().values()} == {figure.study for figure in known.published_values()}


def test_scenarios_that_repeat_a_study_exist() -> None:
    from hopmeter.scenario import files

    named = {name for study in known.studies().values() for name in study.scenarios}
    assert named <= files.every().keys()
    assert all(study.scenarios for study in known.studies().values())


ASKED = ("pattern", "placement", "wait", "work", "relays", "sinks", "pairs", "dispatch", "payload", "codec")


def asks_for(figure: known.Published, ask: scenario.Ask) -> bool:
    """Return whether a set of cells contains the cells that a published figure needs."""
    axes = ask.axes | {"rate_hz": ask.axes["rate"]}
    named = {"all", figure.transport} & {*axes["transport"]} and {"each", "one", figure.language} & {*axes["language"]}
    rate = [] if figure.column == "highest_rate_hz" else ["rate_hz"]
    alike = all(getattr(figure, name) in (None, *axes[name]) for name in (*ASKED, *rate))
    settings = manifest.every()[str(figure.transport)].settings if figure.settings else {}
    given = ask.settings.get(str(figure.transport), {})
    pairs = (each.split("=") for each in (figure.settings or "").split())
    return bool(named) and alike and all(value in given.get(name, [settings[name].default]) for name, value in pairs)


def test_every_published_figure_is_asked_for_by_a_scenario_of_its_study() -> None:
    asks: dict[str, list[tuple[bool, scenario.Ask]]] = {}
    for name, study in known.studies().items():
        found = [scenario.load(scenario.find(each))[0] for each in study.scenarios]
        asks[name] = [(bool(one.search), ask) for one in found for ask in scenario.asks(one)]
    for figure in known.published_values():
        wanted = [ask for searched, ask in asks[figure.study] if searched == (figure.column == "highest_rate_hz")]
        assert not figure.column or not figure.transport or any(asks_for(figure, ask) for ask in wanted), figure


def test_a_figure_stands_beside_rows_with_the_studys_own_settings_only() -> None:
    one = ros2(60.0, executor="single", durability="transient-local")
    many = ros2(113.0, executor="multi", durability="transient-local")
    (table,) = tables([run_of(one, many)])
    (line,) = (each for each in table.lines if each.what == "ros2 (c++)" and "100" in each.conditions)
    assert "executor=multi" in line.conditions
    assert [value for value, _ in line.here[0]] == ["113\N{NARROW NO-BREAK SPACE}µs"]


def test_the_subscriber_that_waits_is_found_among_those_that_do_not() -> None:
    shape = {"placement": "thread", "relays": 0, "payload": "image:320x240", "rate_hz": 30.0, "sinks": 2}
    own = {"wait": "callback+block", "work": "copy:frame/none", "sinks_service_mean_us": [0.5, 100.0]}
    run = run_of(cell("libxr", 1.0, None, None, language="c++") | shape | own)
    (table,) = tables([run])
    assert [line.here for line in table.lines if "synchronous" in line.statistic] == [
        [[("100\N{NARROW NO-BREAK SPACE}µs", "")]]
    ]


def test_a_pickled_array_is_not_an_array_as_it_lies_in_memory() -> None:
    shape = {"pattern": "rpc", "placement": "process", "payload": "image:2000x1000", "roundtrip_mean_us": 9000.0}
    rows = [
        cell("zeromq", 1.0, None, None, language="python") | shape | {"codec": codec}
        for codec in ("numpy", "pickle-in-band")
    ]
    assert [tables([run_of(row)]) != [] for row in rows] == [False, True]


def test_every_comparison_is_of_equal_conditions() -> None:
    run: Run = run_of(
        *(
            row("zenoh", "rust", 20.0, wait=wait, rate_hz=rate)
            for wait in ("block", "callback")
            for rate in (10.0, 100.0)
        ),
        *(
            row("zenoh", "c++", 20.0, wait=wait, rate_hz=rate)
            for wait in ("block", "callback")
            for rate in (10.0, 100.0)
        ),
    )
    assert len(list(comparisons(claim(RUST), run))) == 4
    assert tables([run])
