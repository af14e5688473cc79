"""Results of the interactive commands are drawn like the results of studies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hopmeter.analysis.results.run_results import Run, read
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.report import by_hand, write
from hopmeter.report.by_hand import folder as hand_folder
from hopmeter.report.by_hand.object_delays import MEANING
from hopmeter.report.sections.section import Section
from hopmeter.report.words import formatting
from hopmeter.store.run_folder import BY_HAND
from tests.report.hands import ASKED, write_asked, write_measured


def section(folder: Path) -> tuple[Section, Run]:
    run = hand_folder.read(folder)
    return by_hand.section(run, 1), run


def heads(found: Section) -> list[str]:
    return [column.title for column in found.tables[0].columns]


def column(found: Section, head: str) -> list[Any]:
    place = heads(found).index(head)
    return [line.values[place].sort for line in found.tables[0].bodies[0].lines]


def warnings(found: Section) -> list[str]:
    return [note.text for note in found.notes]


def test_the_boxes_are_those_of_the_log(tmp_path: Path) -> None:
    found, run = section(write_measured(tmp_path / "l"))
    assert (column(found, "Middleware"), column(found, "Plugin")) == (["zeromq"] * 2, ["numpy", "pillow"])
    assert (column(found, "Messages"), column(found, "p99, µs")) == ([300, 300], [None, None])
    assert column(found, "p50, µs")[0] == pytest.approx(101.495)
    assert found.title.startswith("Listener: object 200×100 at 50")
    (figure,) = found.figures
    assert "numpy over zeromq 101" in figure.alternative
    low, high = (run.rows[0].latency(f"p50_{end}") or 0 for end in ("low", "high"))
    assert high - low == pytest.approx(2 * 1.57 * 1.495 / 300**0.5, rel=0.01), "McGill's notch"


@pytest.mark.parametrize("side", ["listener", "publisher"])
def test_the_page_shows_table_figure_and_command(tmp_path: Path, side: str) -> None:
    page = write([write_measured(tmp_path / "l", side=side)], tmp_path / "page.html").read_text()
    assert all(said in page for said in ("Latency of each plugin", "pillow", "hopmeter listen", ">Cores<"))
    assert MEANING[side] in page
    assert (tmp_path / "page.html.figures/across-by-hand-1.svg").exists()


def test_a_log_of_an_older_hopmeter_is_drawn_too(tmp_path: Path) -> None:
    folder = write_measured(tmp_path / "l")
    (folder / BY_HAND).unlink()
    found, _ = section(folder)
    assert (found.title, warnings(found), heads(found)[-1]) == ("Listener", [], "Messages")


def test_what_was_asked_lies_beside_the_log(tmp_path: Path) -> None:
    told = json.loads((write_measured(tmp_path / "l") / BY_HAND).read_text())
    outcomes = told.pop("outcomes")
    assert told == ASKED
    assert [(each["plugin"], each["status"]) for each in outcomes] == [("numpy", "ok"), ("pillow", "ok")]


def test_what_was_lost_wrong_or_not_measured_stands_beside_the_figures(tmp_path: Path) -> None:
    folder = write_measured(tmp_path / "l", sent=310, received=300, wrong=2)
    told = json.loads((folder / BY_HAND).read_text())
    missing = {"middleware": "ros1", "plugin": "numpy", "status": "missing", "reason": "rospy is not installed"}
    (folder / BY_HAND).write_text(json.dumps({**told, "outcomes": [*told["outcomes"], missing]}))
    found, _ = section(folder)
    assert [column(found, head)[0] for head in ("Messages", "Lost", "Wrong")] == [300, 10, 2]
    assert warnings(found) == [
        "numpy over zeromq and pillow over zeromq: 2 messages arrived with wrong content",
        "numpy over ros1: rospy is not installed",
    ]


def test_percentiles_of_a_listener_count_lost_messages(tmp_path: Path) -> None:
    whole, _ = section(write_measured(tmp_path / "whole", sent=300, received=300))
    found, _ = section(write_measured(tmp_path / "l", sent=400, received=300))
    assert column(found, "p50, µs")[0] > column(whole, "p50, µs")[0]
    texts = [str(value.text) for value in found.tables[0].bodies[0].lines[0].values]
    assert "lost" in texts and "falls on a lost message" in str(found.tables[0].caption)


def test_servers_are_drawn_together_and_one_by_one_with_what_is_above_their_work(tmp_path: Path) -> None:
    found, _ = section(write_asked(tmp_path / "a", wrong=40))
    assert found.title == "Servers: frames of 640×480, called at once"
    assert found.sentences == ["a: work: left sleep:30ms and right sleep:50ms"]
    assert column(found, "Server") == ["all at once", "left", "right"]
    assert column(found, "Transport") == ["", "zeromq", "tcp"]
    assert column(found, "p50, µs") == pytest.approx([52019.5, 31019.5, 51019.5])
    assert column(found, "Beyond the work, µs") == pytest.approx([2019.5, 1019.5, 1019.5])
    took, over = found.figures
    assert "all at once 52" in took.alternative
    assert over.alternative.startswith(f"Medians: all at once {formatting.microseconds(2019.5)}")
    assert warnings(found)[0] == "40 replies differed from the frame that was sent."
    page = write([tmp_path / "a"], tmp_path / "page.html").read_text()
    assert all(
        said in page
        for said in ("Reply time of each server", "Time beyond the work", "interrupted", "hopmeter ask left")
    )
    assert (tmp_path / "page.html.figures/across-asked-over-1.svg").exists()


def test_where_the_work_has_no_length_nothing_is_above_it(tmp_path: Path) -> None:
    found, _ = section(write_asked(tmp_path / "a", works=("copy:9", "copy:9")))
    assert [figure.title for figure in found.figures] == ["Reply time of each server"]
    assert column(found, "Beyond the work, µs") == [None] * 3


def test_who_takes_it_for_a_run_is_told_what_draws_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"`hopmeter report {tmp_path / 'l'}`.*E-NO-RUN"):
        read(write_measured(tmp_path / "l"))


def test_runs_and_what_was_measured_by_hand_are_not_mixed(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="E-REPORT-MIXED"):
        write([run, write_measured(tmp_path / "l")], tmp_path / "page.html")


@pytest.mark.parametrize(
    ("text", "says"),
    [("middleware,plugin,timestamp,count,delay\n", "E-NO-MESSAGES"), ("middleware,plugin\na\n", "E-FILE-DAMAGED")],
)
def test_a_log_that_cannot_be_drawn_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "listener.csv").write_text(text)
    with pytest.raises(HopmeterError, match=says):
        write([tmp_path], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
