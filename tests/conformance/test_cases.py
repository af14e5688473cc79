"""Tests for the conformance cases that are derived from a manifest."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from conformance import cases
from hopmeter.manifest.model import ConformanceSettings, Manifest
from tests.plan.capabilities import transport

LANGUAGES = {
    "rust": {"waits": ["block"], "library": "one"},
    "c++": {"waits": ["spin", "block"], "library": "two"},
}


@pytest.fixture
def manifest(monkeypatch: pytest.MonkeyPatch) -> Manifest:
    tried = {"settings": {"library": "three"}, "languages": ["c++"], "meets": ["rust", "python", "c++"]}
    library = {"default": "two", "choices": ["two", "three"], "help": "Which."}
    made = transport("made", languages=LANGUAGES, settings={"library": library}, conformance=[tried])
    monkeypatch.setattr(cases, "MANIFESTS", {"made": made})
    monkeypatch.setattr(cases, "READY", [(made, "rust"), (made, "c++")])
    return made


def test_what_is_tried_meets_peers_with_the_defaults_both_ways(manifest: Manifest) -> None:
    seen = [(case.label, case.settings("sender"), case.settings("receiver")) for case in cases.settings_cases()]
    three = {"library": "three"}
    assert seen == [
        ("made-cpp-block-library=three", three, three),
        ("made-cpp>plain-rust-block-library=three", three, {}),
        ("made-cpp>plain-cpp-spin-library=three", three, {}),
        ("made-plain-rust>cpp-spin-library=three", {}, three),
        ("made-plain-cpp>cpp-spin-library=three", {}, three),
    ]


def test_what_is_tried_says_what_is_carried_and_what_is_told(manifest: Manifest) -> None:
    told = ConformanceSettings(
        settings={"library": "three"}, path="memory", facts={"loan": "none"}, payload_bytes=5_000_000
    )
    manifest.conformance[:] = [told]
    case = cases.settings_cases()[0]
    assert (case.facts, case.payload_bytes) == ({"path": "memory", "loan": "none"}, 5_000_000)


def test_mixed_settings_are_tested_between_languages_that_both_have_them(manifest: Manifest) -> None:
    manifest.conformance[:] = [ConformanceSettings(settings={"library": "three"}, mixed=True)]
    three = {"library": "three"}
    pairs = {(case.sender, case.receiver) for case in cases.settings_cases()}
    assert pairs == {("rust", "rust"), ("c++", "c++"), ("rust", "c++"), ("c++", "rust")}
    assert all(case.settings("sender") == case.settings("receiver") == three for case in cases.settings_cases())


def test_settings_for_messages_are_not_tested_with_calls(manifest: Manifest) -> None:
    manifest.conformance[:] = [ConformanceSettings(settings={"library": "three"})]
    manifest.settings["library"] = manifest.settings["library"].model_copy(update={"patterns": ["pubsub"]})
    assert cases.settings_cases("pubsub") and not cases.settings_cases("rpc")


def test_settings_that_promise_no_loss_are_tested_in_each_language(manifest: Manifest) -> None:
    promised = ConformanceSettings(settings={"library": "three"}, lossless=True)
    manifest.conformance[:] = [promised, ConformanceSettings(settings={"library": "two"})]
    found = [(case.receiver, case.overrides) for case in cases.lossless_cases()]
    assert found == [("rust", {"library": "three"}), ("c++", {"library": "three"})]


def test_a_peer_that_is_not_built_here_is_not_met(manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "READY", [(manifest, "c++")])
    assert {(case.sender, case.receiver) for case in cases.settings_cases()} == {("c++", "c++")}


SUITE = sorted(Path(cases.__file__).parent.glob("test_*.py"))


@pytest.mark.parametrize("path", SUITE, ids=lambda path: path.stem)
def test_where_everything_is_built_no_test_of_the_suite_lacks_cases(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pytest silently skips a parametrized test without cases."""
    everything = [(manifest, language) for manifest in cases.MANIFESTS.values() for language in manifest.offers]
    monkeypatch.setattr(cases, "READY", everything)
    tests = {name: found for name, found in runpy.run_path(str(path)).items() if name.startswith("test_")}
    counts = {
        name: [len(mark.args[1]) for mark in test.pytestmark if mark.name == "parametrize"]
        for name, test in tests.items()
    }
    assert tests
    assert {name: count for name, count in counts.items() if not (count and min(count))} == {}


def test_settings_that_need_a_missing_file_are_skipped_by_name(
    manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MADE_ROOT", str(tmp_path))
    needs = ConformanceSettings(settings={"library": "three"}, languages=["c++"], file="$MADE_ROOT/**/plugin.so")
    manifest.conformance[:] = [needs]

    def marks() -> list[list[str]]:
        [parameters] = [cases.for_each(cases.settings_cases()).args[1]]
        return [[str(mark.kwargs.get("reason")) for mark in each.marks] for each in parameters]

    assert marks() == [["made-cpp-block-library=three: there is no file $MADE_ROOT/**/plugin.so"]]
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/plugin.so").touch()
    assert marks() == [[]]
