"""Names of the previous release are accepted, with a warning that contains the new name."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from hopmeter.api.options import scenario_options
from hopmeter.scenario import files

OLD = """
title = "t"
question = "q?"
awake = true
busy = "2s"
heap = ["kept", "libc"]
columns = ["asking"]
[[case]]
asking = "sequential"
"""
NEW = OLD.replace("awake", "no_idle_states").replace("busy", "retry").replace("kept", "retain")


def test_a_scenario_with_old_names_is_the_same_as_with_new_ones(tmp_path: Path) -> None:
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(OLD)
    new.write_text(NEW.replace("asking", "dispatch"))
    with pytest.warns(FutureWarning) as warned:
        scenario, _ = files.load(old)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert files.load(new)[0] == scenario
    said = "\n".join(str(each.message) for each in warned)
    for text in ('"asking" is now "dispatch"', '"awake" is now "no_idle_states"', '"busy" is now "retry"'):
        assert text in said
    assert 'heap "kept" is now "retain"' in said
    assert str(old) in said


def test_options_with_old_names_stand_for_the_new_ones() -> None:
    with pytest.warns(FutureWarning, match='"asking" is now "dispatch"'):
        assert scenario_options({"asking": "sequential", "awake": True, "heap": "kept,libc"}) == {
            "dispatch": ["sequential"],
            "no_idle_states": True,
            "heap": ["retain", "libc"],
        }
