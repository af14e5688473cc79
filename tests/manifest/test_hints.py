"""Manifest hints appear in rows that show a hint's symptom, and end with the recommended setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hopmeter import manifest
from hopmeter.analysis.cells.setting_hints import setting_warnings
from hopmeter.analysis.results.groups import groups
from hopmeter.manifest.tables.hint import Hint
from hopmeter.messages import tag
from hopmeter.report.sections.group_section import section
from hopmeter.report.warnings.result_rules import warnings
from tests.analysis.made import analyse_trials, arrivals, messages
from tests.cells import cell as planned
from tests.coded import refuses
from tests.plan.capabilities import transport
from tests.report.rows import cell, print_table, run_of

SETTINGS = {"profile": {"default": "default", "choices": ["default", "large"], "help": "H."}}
HINT: dict[str, Any] = {"symptom": ["lost"], "text": "a full queue drops messages", "cure": {"profile": "large"}}
SENTENCE = "a full queue drops messages; set profile=large"
EVERY = [(name, hint) for name, one in sorted(manifest.every().items()) for hint in one.hint]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"cure": {"profil": "large"}}, 'E-UNKNOWN-SETTING hint.cure "profil" "profile"'),
        ({"cure": {"profile": "huge"}}, 'E-VALUE-CHOICE "huge" large'),
        ({"where": {"depth": [1]}}, 'E-UNKNOWN-SETTING hint.where "depth"'),
        ({"where": {"profile": ["huge"]}}, 'E-VALUE-CHOICE "huge"'),
    ],
)
def test_a_hint_names_settings_and_values_that_exist(changes: dict[str, Any], says: str) -> None:
    with refuses(ValidationError, says):
        transport("bus", settings=SETTINGS, hint=[HINT | changes])


@pytest.mark.parametrize("changes", [{"symptom": []}, {"symptom": ["slow"]}, {"cure": {}}, {"text": ""}, {"cause": 1}])
def test_a_hint_needs_a_symptom_a_text_and_a_cure_and_no_other_keys(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Hint.model_validate(HINT | changes)


@pytest.mark.parametrize(
    ("keys", "case", "holds"),
    [
        ({}, {}, True),
        ({}, {"symptoms": ["saturated"]}, False),
        ({}, {"settings": {"profile": "large"}}, False),
        ({"where": {"depth": [1, 2]}}, {}, True),
        ({"where": {"depth": [3]}}, {}, False),
        ({"least_payload_bytes": 1001}, {}, False),
        ({"max_receivers": 1}, {"receivers": 2}, False),
        ({"max_receivers": 2}, {"receivers": 2}, True),
    ],
)
def test_a_hint_holds_for_its_symptom_and_its_conditions(
    keys: dict[str, Any], case: dict[str, Any], holds: bool
) -> None:
    usual = {"symptoms": ["lost", "ok"], "settings": {"profile": "default", "depth": 1}}
    known = usual | {"payload_bytes": 1000, "receivers": 1} | case
    assert Hint.model_validate(HINT | keys).applies(**known) == holds


@pytest.mark.parametrize(("name", "hint"), EVERY, ids=lambda value: value if isinstance(value, str) else "")
def test_each_hint_is_a_clause_whose_cure_changes_something(name: str, hint: Hint) -> None:
    assert not hint.text.endswith((".", ";")) and "set " not in hint.text
    settings = manifest.every()[name].resolve_settings({key: values[0] for key, values in hint.where.items()})
    assert hint.applies(hint.symptom, settings, hint.least_payload_bytes, 1)
    assert not hint.applies(hint.symptom, settings | hint.cure, hint.least_payload_bytes, 1)
    assert hint.applies(["ok"], settings, hint.least_payload_bytes, 1) == ("ok" in hint.symptom)


def test_a_row_that_lost_messages_names_the_cure_and_one_with_the_cure_does_not(tmp_path: Path) -> None:
    trial = {0: messages(1000), 1: arrivals(range(0, 1000, 2))}
    for nodrop, count in ((False, 1), (True, 0)):
        one = planned(transport="zeromq", language="c++", settings={"nodrop": nodrop}, trials=1, payload_bytes=36)
        row = analyse_trials(tmp_path / str(nodrop), one, trial)
        assert row["status"] == "saturated"
        assert [text.count("set nodrop=true [W-SETTING]") for text in row["warnings"]].count(1) == count
        assert ("W-SETTING" in row["warning_codes"]) == bool(count)


def test_a_row_without_the_symptom_gets_no_hint() -> None:
    one = planned(transport="zeromq", language="c++", settings={"nodrop": False})
    assert setting_warnings(one, {"lost": 0, "status": "ok"}) == []
    assert len(setting_warnings(one, {"lost": 3, "status": "ok"})) == 1


def test_a_hint_for_some_languages_is_not_given_to_others() -> None:
    settings = {"dds": "cyclonedds", "profile": "default"}
    for language, count in (("c++", 1), ("c++>python", 1), ("rust", 0), ("c++>rust", 0)):
        one = planned(transport="ros2-wire", language=language, settings=settings, payload_bytes=1_000_000)
        assert len(setting_warnings(one, {"lost": 3, "status": "saturated"})) == count


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({}, 1),
        ({"carried_by": "rmw_cyclonedds_cpp 2.0"}, 0),
        ({"placement": "thread"}, 0),
        ({"payload_bytes": 499_999}, 0),
        ({"settings": {"segment": "16MiB", "fastdds_profiles": ""}}, 0),
        ({"settings": {"segment": "default", "fastdds_profiles": "own.xml"}}, 0),
    ],
)
def test_a_default_that_only_costs_time_is_named_where_it_applies(change: dict[str, Any], count: int) -> None:
    usual: dict[str, Any] = {
        "settings": {"segment": "default", "fastdds_profiles": ""},
        "placement": "process",
        "payload_bytes": 921_600,
        "carried_by": "rmw_fastrtps_cpp 9.3.3",
    }
    carried_by = (values := usual | change).pop("carried_by")
    one = planned(transport="ros2", language="python", **values)
    row = {"lost": 0, "status": "ok", "carried_by": carried_by}
    assert len(setting_warnings(one, row)) == count


def test_table_and_page_show_the_hint_at_the_row_and_only_there() -> None:
    hint = tag("W-SETTING", SENTENCE)
    run = run_of(cell("bus", 50.0, 49.0, 51.0), cell("tram", 60.0, status="saturated", reason="r", warnings=[hint]))
    shown = " ".join(print_table(run).split())
    assert shown.count(SENTENCE) == 1 and f"tram: {SENTENCE} [W-SETTING]" in shown
    assert "warnings" not in shown
    (group,) = groups([run])
    notes = [str(line.values[1].notes) for body in section(group, []).tables[0].bodies for line in body.lines]
    assert [SENTENCE in note for note in notes] == [False, True]
    assert "W-SETTING" not in [each.code for each in warnings([run])]
