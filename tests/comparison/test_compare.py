"""Tests that compare runs, baselines and sides, and that match cells by their conditions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopmeter.api.comparing import compare as api_compare
from hopmeter.comparison import baselines, between_runs, sources
from hopmeter.comparison.change import Change
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.messages import split_code
from hopmeter.model.cell import Cell
from tests.coded import lacking, refuses
from tests.command import Ran

from .runs import MACHINE, make_run, sides, transport

Hopmeter = Callable[..., Ran]
HOURS = ("2026-11-21T04:00:00+00:00", "2026-11-21T06:00:00+00:00", "2026-11-22T04:00:00+00:00")
SHM, UNIX, TCP = transport("shm"), transport("unix"), transport("tcp")
LEVELS = ((SHM, 10), (UNIX, 20), (TCP, 30))


def medians(level: float, seed: int, count: int = 12, spread: float = 0.01) -> list[float]:
    return [float(each) for each in level * np.exp(spread * np.random.default_rng(seed).normal(size=count))]


def compare(old: Path | str, new: Path | str, metric: str = "p50") -> dict[str, Change]:
    found = between_runs.compare(sources.open_runs(str(old)), sources.open_runs(str(new)), metric)
    return {each.name: each for each in found}


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def baseline(tmp_path: Path) -> str:
    """Write a baseline named `main`: shm takes 10 µs, unix 20 µs and tcp 30 µs, with a drift of a few percent."""
    runs = [
        make_run(
            tmp_path / f"results/run{number}",
            [(one, medians(level * drift, number)) for one, level in LEVELS],
            started=started,
        )
        for number, (started, drift) in enumerate(zip(HOURS, (1.0, 1.01, 0.99), strict=True))
    ]
    baselines.store("main", runs)
    return "main"


def test_two_single_runs_show_ratios_beside_the_drift_and_decide_nothing(tmp_path: Path) -> None:
    one = make_run(tmp_path / "one", [(SHM, medians(10, 1)), (UNIX, medians(20, 2)), (TCP, medians(30, 3))])
    other = make_run(tmp_path / "other", [(SHM, medians(11, 4)), (UNIX, medians(60, 5))])
    found = compare(one, other)
    unix = found["unix (rust)"]
    assert unix.ratio == pytest.approx(3, rel=0.05)
    assert (unix.verdict, unix.low, unix.high) == ("undecided", None, None)
    assert split_code(unix.reason)[1] == "W-SINGLE-RUNS"
    assert found["tcp (rust)"].verdict == "only_old"
    assert between_runs.drift(found.values()) == {"shm (rust)": pytest.approx(1.1, rel=0.05)}


def test_cells_are_matched_by_their_conditions_and_not_by_their_ids(tmp_path: Path) -> None:
    def encoded_cell(name: str, size: int) -> Cell:
        return transport("unix", payload="array:9x9", codec="numpy", payload_bytes=size).with_values(id=name)

    one = make_run(tmp_path / "one", [(encoded_cell("c1", 700), medians(20, 1)), (SHM, medians(10, 1))])
    other = make_run(tmp_path / "other", [(SHM, medians(10, 1)), (encoded_cell("c2", 704), medians(20, 1))])
    assert {each.verdict for each in compare(one, other).values()} == {"undecided"}


def test_a_baseline_decides(baseline: str, tmp_path: Path) -> None:
    slower = make_run(
        tmp_path / "new", [(SHM, medians(10, 7)), (UNIX, medians(40, 8)), (transport("zenoh"), medians(9, 9))]
    )
    found = compare(baseline, slower)
    assert found["unix (rust)"].verdict == "much_slower"
    assert found["shm (rust)"].verdict in ("same", "undecided")
    assert (found["tcp (rust)"].verdict, found["zenoh (rust)"].verdict) == ("only_old", "only_new")
    low, ratio, high = (getattr(found["unix (rust)"], name) for name in ("low", "ratio", "high"))
    assert 1.05 < low < ratio < high


@pytest.mark.parametrize(
    ("clock_us", "verdict", "code"),
    [
        (0.0, "much_slower", None),
        (1.0, "much_slower", None),
        (9.0, "undecided", "W-CLOCK-RUNS"),
        (50.0, "undecided", "W-CLOCK-RUNS"),
    ],
)
def test_clocks_of_hosts_have_another_error_in_each_run(
    tmp_path: Path, clock_us: float, verdict: str, code: str | None
) -> None:
    """A clock error of 9 µs per run explains a difference between 20 and 30 µs; a clock error of 1 µs does not."""
    rows = {UNIX.id: {"clock_uncertainty_us": clock_us or None, "clock_residual_us": 0.1}}
    runs = [
        make_run(tmp_path / f"results/run{number}", [(UNIX, medians(20, number))], started=started, rows=rows)
        for number, started in enumerate(HOURS)
    ]
    baselines.store("main", runs)
    (found,) = compare("main", make_run(tmp_path / "new", [(UNIX, medians(30, 8))], rows=rows)).values()
    assert (found.verdict, found.as_json()["code"]) == (verdict, code)
    assert found.low is not None and found.high is not None
    exact = 1.5
    assert found.low <= (30 - clock_us) / (20 + clock_us) <= exact or clock_us > 30
    assert found.high >= (30 + clock_us) / max(20 - clock_us, 0.1)


def test_a_baseline_outlives_its_runs_and_is_listed(baseline: str, tmp_path: Path, hopmeter_here: Hopmeter) -> None:
    shutil.rmtree(tmp_path / "results/run0")
    assert len(baselines.load(baseline).runs) == 3
    said = hopmeter_here("baseline").stdout
    assert said.startswith("main (3 runs from 2026-11-21 04:00 to 2026-11-22 04:00)\n")
    assert "results/baselines/main\n  0-run0\n" in said


def test_a_baseline_says_how_large_a_change_it_finds(baseline: str, tmp_path: Path) -> None:
    few = baselines.load(baseline)
    runs = [tmp_path / "results" / f"run{number}" for number in range(3)]
    later = [f"2026-11-23T0{hour}:00:00+00:00" for hour in range(5)]
    more = [
        make_run(tmp_path / f"more{at}", [(one, medians(us, at)) for one, us in LEVELS], started=start)
        for at, start in enumerate(later)
    ]
    many = baselines.store("many", [*runs, *more])
    worst, best = (max(between_runs.detectable(between_runs.Runs(each.name, each.runs))) for each in (few, many))
    assert 1 < best < worst
    new = make_run(tmp_path / "new", [(SHM, medians(10 * worst**1.5, 7)), (UNIX, medians(20, 8))])
    assert compare(baseline, new)["shm (rust)"].verdict == "much_slower"


def test_without_a_baseline_the_list_says_how_to_make_one(hopmeter_here: Hopmeter) -> None:
    assert "hopmeter baseline NAME" in hopmeter_here("baseline").stdout


def test_a_baseline_needs_runs_of_three_hours(tmp_path: Path) -> None:
    starts = (HOURS[0], "2026-11-21T04:20:00+00:00", HOURS[1])
    runs = [make_run(tmp_path / f"r{at}", [(SHM, medians(10, at))], started=one) for at, one in enumerate(starts)]
    with refuses(UsageError, "E-BASELINE-RUNS 3 2"):
        baselines.store("main", runs)


def make_later(run: Path) -> None:
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**about, "format": 999}))


@pytest.mark.parametrize(
    ("damage", "machine", "transports", "says"),
    [
        (str, {**MACHINE, "cores": 64}, "shm", "E-COMPARE-MACHINES"),
        (str, MACHINE, "tcp", "E-COMPARE-NOTHING"),
        (lambda run: (run / "trials.parquet").unlink(), MACHINE, "shm", "E-FILE-MISSING trials.parquet"),
        (lambda run: (run / "cells.parquet").unlink(), MACHINE, "shm", "E-RUN-UNFINISHED cells.parquet"),
        (make_later, MACHINE, "shm", "E-RUN-FORMAT 999"),
        (lambda run: run.rename(run.with_name(f".{run.name}.partial")), MACHINE, "shm", "E-RUN-UNFINISHED --resume"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused_with_the_remedy(
    damage: Any, machine: dict[str, Any], transports: str, says: str, tmp_path: Path
) -> None:
    one = make_run(tmp_path / "one", [(SHM, medians(10, 1))])
    other = make_run(tmp_path / "other", [(transport(transports), medians(10, 1))], machine=machine)
    damage(other)
    with refuses(HopmeterError, says):
        compare(one, other)


def test_a_baseline_of_two_machines_is_refused_with_the_remedy(tmp_path: Path) -> None:
    machines = (MACHINE, MACHINE, {**MACHINE, "cpu_model": "another model"})
    runs = [
        make_run(tmp_path / f"r{at}", [(SHM, medians(10, at))], started=start, machine=machine)
        for at, (start, machine) in enumerate(zip(HOURS, machines, strict=True))
    ]
    with refuses(UsageError, "E-COMPARE-MACHINES another model") as refused:
        baselines.store("main", runs)
    assert "baseline for each machine" in refused.value.remedy
    assert not baselines.names()


def test_a_debug_build_on_one_side_is_named(tmp_path: Path) -> None:
    builds = {"shm (rust)": "rustc 1.95.0 -O0", "unix (rust)": "rustc 1.95.0 -O3", "nng (python)": "Python 3.11"}
    old = make_run(tmp_path / "old", [(SHM, medians(10, 7))], builds=builds)
    new = make_run(tmp_path / "new", [(SHM, medians(10, 7))], builds=dict.fromkeys(builds, "rustc 1.96.0 -O3"))
    notes = api_compare(old, new).notes
    assert notes[-1] == "Also different: build of shm (rust) debug build → release build."


def test_an_upgrade_of_the_system_is_compared_and_named(baseline: str, tmp_path: Path, hopmeter_here: Hopmeter) -> None:
    upgraded = {**MACHINE, "kernel": "7.0"}
    about = {"machine": upgraded, "versions": {"unix (rust)": "2.0"}}
    new = make_run(tmp_path / "new", [(SHM, medians(10, 7)), (UNIX, medians(40, 8))], **about)
    assert compare(baseline, new)["unix (rust)"].verdict == "much_slower"
    old = make_run(tmp_path / "old", [(SHM, medians(10, 7))], machine={**MACHINE, "kernel": "6.18"})
    said = hopmeter_here("compare", str(old), str(new)).stdout
    assert "Also different: kernel 6.18 → 7.0" in " ".join(said.split())


def test_two_single_runs_list_what_both_have_and_name_the_rest(tmp_path: Path, hopmeter_here: Hopmeter) -> None:
    one = make_run(tmp_path / "one", [(SHM, medians(10, 1)), (UNIX, medians(20, 2)), (TCP, medians(30, 3))])
    other = make_run(tmp_path / "other", [(SHM, medians(11, 4)), (UNIX, medians(60, 5))])
    said = hopmeter_here("compare", str(one), str(other)).stdout
    assert said.split("\n")[1].startswith("Nothing is decided")
    assert "undecided" not in said
    assert [line.split()[0] for line in said.splitlines() if "(rust)  " in line] == ["shm", "unix"]
    assert "1 cell exists only on the old side: tcp (rust)." in said


def test_a_baseline_that_does_not_exist_is_refused_with_those_that_do(baseline: str, tmp_path: Path) -> None:
    with refuses(UsageError, "E-NO-BASELINE mian main"):
        compare("mian", tmp_path / "results/run0")


def with_sides(tmp_path: Path, ratio: float, **row: Any) -> Path:
    """Return a run with `--against` in which the new side of unix takes `ratio` times as long."""
    unix, tcp = sides("unix"), sides("tcp")
    both = [(unix[0], medians(20, 1)), (unix[1], medians(20 * ratio, 2))]
    both += [(tcp[0], medians(30, 3)), (tcp[1], medians(30, 4)), (SHM, medians(10, 5))]
    return make_run(tmp_path / "both", both, against="set:hwm=1", rows={unix[1].id: row})


KEYS = {"transport", "language", "payload", "metric", "old", "new", "ratio", "low", "high", "verdict", "detectable"}


@pytest.mark.parametrize(
    ("ratio", "verdict", "code"),
    [(1.0, "same", 0), (1.03, "same", 0), (1.1, "much_slower", 3), (1.5, "much_slower", 3)],
)
def test_the_sides_of_one_run_decide_and_the_gate_exits_with_three(
    ratio: float, verdict: str, code: int, tmp_path: Path, hopmeter_here: Hopmeter
) -> None:
    run = with_sides(tmp_path, ratio)
    done = hopmeter_here("compare", str(run), "--fail-if", "slower:5%", "--json")
    rows = {row["transport"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == code
    assert rows["unix"].keys() >= KEYS
    assert (rows["unix"]["verdict"], rows["tcp"]["verdict"]) == (verdict, "same")
    assert rows["unix"]["metric"] == "response_p50_us"


@pytest.mark.parametrize(
    ("row", "why"),
    [({"status": "failed"}, "failed"), ({"status": "saturated"}, "saturated"), ({"lost": 7}, "7 messages were lost")],
)
def test_what_breaks_on_the_new_side_only_fails_the_gate(
    row: dict[str, Any], why: str, tmp_path: Path, hopmeter_here: Hopmeter
) -> None:
    run = with_sides(tmp_path, 1.0, **row)
    done = hopmeter_here("compare", str(run), "--fail-if", "slower:5%")
    assert done.returncode == 3
    assert why in " ".join(done.stdout.split())


@pytest.mark.parametrize("command", ["compare", "show"])
def test_a_run_with_two_sides_begins_with_the_verdict_and_has_no_ranking(
    command: str, tmp_path: Path, hopmeter_here: Hopmeter
) -> None:
    said = hopmeter_here(command, str(with_sides(tmp_path, 1.5))).stdout
    verdict = next(line for line in said.splitlines() if line)
    assert verdict.startswith("Of 2 cells, 1 is slower by more than 5 % (unix (rust)"), said
    assert "fastest" not in said
    assert "×best" not in said


def test_an_undecided_change_passes_and_says_what_it_would_have_seen(tmp_path: Path, hopmeter_here: Hopmeter) -> None:
    unix = sides("unix")
    run = make_run(tmp_path / "both", [(one, medians(20, at, 6, 0.3)) for at, one in enumerate(unix)], against="x")
    done = hopmeter_here("compare", str(run), "--fail-if", "slower:5%")
    assert done.returncode == 0
    assert "would be detected" in done.stdout
    assert hopmeter_here("compare", str(run), "--fail-if", "undecided").returncode == 3


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--fail-if", "slower:5"], "E-GATE"),
        (["--fail-if", "p42:slower:5%"], "E-GATE"),
        (["--metric", "p42"], "E-OPTION-VALUE"),
        (["--export", "bencher"], "E-OPTION-VALUE"),
        (["--export", "benchar:b.json"], "E-OPTION-VALUE"),
    ],
)
def test_options_that_cannot_be_used_exit_with_two(
    words: list[str], code: str, tmp_path: Path, hopmeter_here: Hopmeter
) -> None:
    run = with_sides(tmp_path, 1.0)
    done = hopmeter_here("compare", str(run), *words)
    assert (done.returncode, lacking(done.stderr, code)) == (2, [])


def test_a_gate_on_two_single_runs_is_refused(tmp_path: Path, hopmeter_here: Hopmeter) -> None:
    one = make_run(tmp_path / "one", [(SHM, medians(10, 1))])
    done = hopmeter_here("compare", str(one), str(one), "--fail-if", "slower:5%")
    assert (done.returncode, lacking(done.stderr, "E-GATE")) == (2, [])


def test_the_gate_on_a_baseline_exits_with_three(baseline: str, tmp_path: Path, hopmeter_here: Hopmeter) -> None:
    new = make_run(tmp_path / "new", [(SHM, medians(10, 7)), (UNIX, medians(80, 8))])
    done = hopmeter_here("compare", baseline, str(new), "--fail-if", "slower:5%")
    assert done.returncode == 3
    assert "gate failed: unix" in done.stdout
    assert "gate failed: shm" not in done.stdout
    assert "not judged: tcp" in done.stdout, "a cell that is gone is no change, but nobody should overlook it"
    assert "Look at the machine" not in done.stdout


def test_a_gate_that_fails_on_another_state_of_the_machine_says_so(
    baseline: str, tmp_path: Path, hopmeter_here: Hopmeter
) -> None:
    new = make_run(tmp_path / "new", [(SHM, medians(40, 7)), (UNIX, medians(80, 8))])
    done = hopmeter_here("compare", baseline, str(new), "--fail-if", "slower:5%")
    assert done.returncode == 3
    assert "Cells that should not change (shm (rust)) changed by" in " ".join(done.stdout.split())
    assert "First check whether the machine changed." in " ".join(done.stdout.split())


def test_a_run_with_one_side_is_not_compared_with_itself(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        sources.open_sides(str(make_run(tmp_path / "one", [(SHM, medians(10, 1))])))
    assert refused.value.code == "E-COMPARE-NOTHING"
