"""Tests for transport examples: which are found, how values are substituted, and what is written."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from conformance.test_examples import EXAMPLES
from hopmeter import manifest
from hopmeter.errors import HopmeterError
from hopmeter.manifest.examples import Example, check_folder, constants_of, fill_values, find_example, write_examples
from hopmeter.manifest.readiness import readiness
from hopmeter.system import paths
from tests.coded import refuses

KNOWN = [
    found
    for each in manifest.every().values()
    for language in each.offers
    if (found := find_example(each, language) or find_example(each, language, "rpc")) is not None
]
NEEDED = {"PAYLOAD_BYTES", "RATE_HZ", "COUNT"}
LONGEST = 130
"""The maximum number of lines in an example, because users read examples completely."""


def is_ready(example: Example) -> bool:
    return readiness(example.manifest, example.language).ready


def test_each_example_is_run_by_conformance() -> None:
    (folder,) = paths.transport_folders()
    places = [*folder.glob("*/python/example.py"), *folder.glob("*/cpp/example.cpp"), *folder.glob("*/rust/examples/*")]
    programs = {path for path in places if not path.parts[-3].startswith("_") and path.name != "build.rs"}
    assert {each.path for each in KNOWN} == programs
    assert {each.path for each in EXAMPLES} == {each.path for each in KNOWN if is_ready(each)}


@pytest.mark.parametrize("example", KNOWN, ids=lambda each: f"{each.manifest.name}-{each.language}")
def test_an_example_has_the_values_that_advise_fills_in(example: Example) -> None:
    assert constants_of(example) >= NEEDED
    assert "hopmeter" not in example.text.lower()
    assert len(example.text.splitlines()) <= LONGEST
    filled = fill_values(example.text, {"PAYLOAD_BYTES": 7, "RATE_HZ": 2.5, "COUNT": 3, "TOPIC": "t", "NOTHING": 1})
    assert len(filled.splitlines()) == len(example.text.splitlines())
    if not example.manifest.run_together:
        assert constants_of(example) & {"TOPIC", "ADDRESS"}, "receivers need at least one of them"
    for text in ("PAYLOAD_BYTES", "= 7", "= 2.5", *(['= "t"'] if "TOPIC" in constants_of(example) else [])):
        assert text in filled
    assert "NOTHING" not in filled


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        ("HWM = 1000", {"HWM": 5}, "HWM = 5"),
        ("NODROP = False", {"NODROP": True}, "NODROP = True"),
        ("constexpr bool NODROP = false;", {"NODROP": True}, "constexpr bool NODROP = true;"),
        ("const RATE_HZ: f64 = 100.0;", {"RATE_HZ": 30}, "const RATE_HZ: f64 = 30.0;"),
        ('const std::string TOPIC = "a b";', {"TOPIC": "c"}, 'const std::string TOPIC = "c";'),
        ('FULL = "drop"  # or block', {"FULL": "block"}, 'FULL = "block"  # or block'),
        ("    HWM = 1000", {"HWM": 5}, "    HWM = 1000"),
        ("HWM_LOW = 1", {"HWM": 5}, "HWM_LOW = 1"),
    ],
)
def test_values_are_filled_in_as_the_language_writes_them(before: str, values: dict[str, object], after: str) -> None:
    assert fill_values(before, values) == after  # type: ignore[arg-type]


def test_one_command_starts_programs_that_start_together(tmp_path: Path) -> None:
    mpi = find_example(manifest.every()["mpi"], "c++")
    assert mpi is not None
    (command,) = mpi.run_commands
    assert command.endswith(" ./example receive : -n 1 ./example send")
    write_examples([mpi], {}, tmp_path)
    said = (tmp_path / "README.md").read_text()
    assert command in said and "second terminal" not in said and "broker" not in said


def test_a_written_example_says_how_to_build_and_run_it(tmp_path: Path) -> None:
    zeromq = manifest.every()["zeromq"]
    examples = [each for word in zeromq.offers if (each := find_example(zeromq, word))]
    written = write_examples(examples, {"HWM": 7, "IO_THREADS": 2}, tmp_path)
    assert {path.name for path in written} == {"main.rs", "Cargo.toml", "example.cpp", "example.py", "README.md"}
    assert "HWM = 7;" in (tmp_path / "example.cpp").read_text() and "HWM = 7\n" in (tmp_path / "example.py").read_text()
    said = (tmp_path / "README.md").read_text()
    for text in ("apt install libzmq3-dev", "pip install 'pyzmq==27.*'", "-lzmq", "./example receive", "io_threads=2"):
        assert text in said


def find(transport: str, language: str, pattern: str) -> Example:
    found = find_example(manifest.every()[transport], language, pattern)
    assert found is not None
    return found


@pytest.mark.parametrize("transport", ["zeromq", "nng", "grpc", "thrift", "nats", "zenoh", "websocket", "ecal"])
def test_whoever_makes_calls_gets_a_program_that_calls(transport: str, tmp_path: Path) -> None:
    known = manifest.every()[transport]
    examples = [find(transport, language, "rpc") for language in known.offers]
    assert all(each.note == "" for each in examples)
    write_examples(examples, {}, tmp_path)
    said = (tmp_path / "README.md").read_text()
    assert f"# Calls with {known.title}" in said and "Start `serve` first, then `call`" in said
    assert "receive" not in said


def test_a_library_without_calls_gets_a_program_with_messages_that_says_so(tmp_path: Path) -> None:
    example = find("redis", "python", "scatter")
    assert "Redis has no calls" in example.note and find("redis", "python", "pubsub").note == ""
    write_examples([example], {}, tmp_path)
    said = (tmp_path / "README.md").read_text()
    assert example.note in said and "python3 example.py receive" in said


def test_a_program_without_calls_is_no_example_of_calls() -> None:
    ros1 = manifest.every()["ros1"]
    assert find_example(ros1, "python") is not None and find_example(ros1, "python", "rpc") is None
    assert find_example(manifest.every()["thrift"], "python", "pubsub") is None


def test_a_program_with_generated_code_has_what_generates_it(tmp_path: Path) -> None:
    write_examples([find("grpc", "rust", "rpc")], {}, tmp_path)
    assert {"build.rs", "example.proto", "Cargo.toml"} <= {path.name for path in tmp_path.iterdir()}
    project = tomllib.loads((tmp_path / "Cargo.toml").read_text())
    assert set(project["build-dependencies"]) == {"protox", "tonic-prost-build"}
    assert {"prost", "tonic-prost", "tonic"} <= set(project["dependencies"])
    assert find("cyclonedds", "python", "pubsub").files.keys() == {"example.py"}


def test_a_rust_example_is_a_project_with_the_crates_that_it_uses(tmp_path: Path) -> None:
    example = find_example(manifest.every()["nats"], "rust")
    assert example is not None
    write_examples([example], {}, tmp_path)
    project = tomllib.loads((tmp_path / "Cargo.toml").read_text())
    assert set(project["dependencies"]) == {"async-nats", "futures-util", "tokio"}
    assert "nats-server" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("example", [each for each in KNOWN if each.language == "rust"], ids=lambda e: e.manifest.name)
def test_the_crates_of_an_example_have_versions_outside_a_workspace(example: Example) -> None:
    described = [example.crates, example.build_crates]
    assert [name for table in described for name, each in table.items() if "workspace" in each] == []


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    check_folder(tmp_path / "new")
    check_folder(tmp_path)
    (tmp_path / "mine").write_text("")
    with refuses(HopmeterError, "E-EXISTS empty"):
        check_folder(tmp_path)
