"""Tests for the clock file of a run, and for errors about damaged files."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopmeter.clocks.clock_state import ClockState, correction_ppm, read_clock_state
from hopmeter.store.clock_file import FILE, add_clocks, read_clocks
from hopmeter.store.disk import StoreError
from tests.clocks.simulated import HERE, Network, clock


def test_batches_and_clocks_are_read_as_they_were_stored(tmp_path: Path) -> None:
    batches = Network(1, HERE, clock(7)).batches(2)
    state = read_clock_state("s", "alpha", with_sources=True)
    for each in (batches[0], state, batches[1]):
        add_clocks(tmp_path, each)
    assert read_clocks(tmp_path) == (batches, [state])


def test_a_run_of_one_host_has_no_clocks(tmp_path: Path) -> None:
    assert read_clocks(tmp_path) == ([], [])


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    batch = Network(1, HERE, clock(7)).batch(0)
    add_clocks(tmp_path, batch)
    with (tmp_path / FILE).open("a") as file:
        file.write('{"burst": {"sess')
    assert read_clocks(tmp_path) == ([batch], [])


@pytest.mark.parametrize("line", ["[]", '{"burst": {}}', '{"other": {}}', "nonsense", '{"clock": []}', "[" * 5000])
def test_a_damaged_file_is_an_error(tmp_path: Path, line: str) -> None:
    (tmp_path / FILE).write_text(line + "\n")
    with pytest.raises(StoreError, match="E-FILE-DAMAGED"):
        read_clocks(tmp_path)


def test_a_clock_that_a_program_corrects_shows_by_how_much() -> None:
    def state(raw_ns: int, corrected_ns: int) -> ClockState:
        values = {"monotonic_ns": raw_ns + corrected_ns, "raw_ns": raw_ns, "bracket_ns": 50, "kernel": None}
        return ClockState.model_validate(values | {"session": "s", "host": "alpha", "clock": "c"})

    assert correction_ppm([state(0, 5), state(10**9, 5 + 20_000)]) == pytest.approx(20)
    assert correction_ppm([state(0, 5)]) is None
