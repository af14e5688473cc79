"""Each missing part of a plan's cells is reported once, and one command builds all missing parts."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from hopmeter.api import building, planning
from hopmeter.api.measuring import Consoles
from hopmeter.api.planning import Prepared
from hopmeter.build import work
from hopmeter.build.command import BuildError
from hopmeter.build.lacking import find_lacking
from hopmeter.build.targets import Target
from hopmeter.cli.output.plan_table import print_plan
from hopmeter.errors import UsageError
from hopmeter.hosts.coordinator.build_on_hosts import HostOutcome
from hopmeter.hosts.coordinator.session import HostSession
from hopmeter.hosts.protocol.host_build import BuildOrder
from hopmeter.manifest import Readiness
from hopmeter.plan import Plan
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.placement.host_facts import HostFacts
from hopmeter.schemas import library_of
from hopmeter.system import paths
from hopmeter.system.terminal import Console
from tests.coded import lacking, refuses
from tests.plan.capabilities import capabilities, make_plan, transport

COMMAND = ["hopmeter", "run", "my scenario.toml", "--rate", "10"]
ONE = "hopmeter run 'my scenario.toml' --rate 10 --build"
SCHEMA = 'syntax = "proto3";\nmessage Pose { double x = 1; }\n'


def lacks(where: Capabilities, **given: Any) -> dict[str, list[str]]:
    found = find_lacking(make_plan(where, wait="block", cores="free", **given), where)
    return {host: [part.title for part in parts] for host, parts in found.items()}


def unready(*pairs: tuple[str, str], get: str = "hopmeter build it") -> Capabilities:
    where = capabilities(transport("bus"), transport("tram"))
    ready = {key: replace(state, ready=key not in pairs, get=get) for key, state in where.ready.items()}
    return replace(where, ready=ready)


def test_each_adapter_is_found_once_and_those_of_impossible_cells_are_not() -> None:
    where = unready(("bus", "rust"), ("tram", "python"))
    found = lacks(where, transport=["bus", "tram"], language=["rust", "python"], rate=[10, 20])
    assert found == {"": ["bus (rust)", "tram (python)"]}
    assert lacks(where, payload="bytes:5000") == {}, "too large for this transport"


def test_what_only_the_user_can_install_is_not_built() -> None:
    assert lacks(unready(("bus", "rust"), get="install the library yourself")) == {}


def test_a_node_that_is_too_old_to_send_at_once_is_built_again() -> None:
    assert lacks(capabilities(transport("bus")), begin="at-once") == {"": ["bus (rust)"]}
    assert lacks(capabilities(transport("bus")), begin="linked") == {}


def test_the_code_of_a_message_is_found_in_each_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopmeter.build.lacking.missing_tools", lambda *_: [])
    monkeypatch.setattr(paths, "codec_folder", lambda: tmp_path / "codecs")
    library_of.cache_clear()
    (tmp_path / "p.proto").write_text(SCHEMA)
    message = {"payload": f"message:{tmp_path}/p.proto:Pose", "codec": "protobuf"}
    found = lacks(capabilities(transport("bus")), language="rust>python", **message)
    assert found == {"": [f"{tmp_path}/p.proto:Pose (protobuf, {each})" for each in ("rust", "python")]}


def test_a_host_lacks_what_is_not_ready_there() -> None:
    ready = {("bus", "rust"): Readiness("bus", "rust", ready=False, missing="?", get="hopmeter build bus")}
    hosts = {"a": HostFacts("a", is_here=True), "b": HostFacts("b", ready=ready, cores=(0, 1))}
    assert lacks(replace(capabilities(transport("bus")), hosts=hosts)) == {"b": ["bus (rust)"]}


def print_to_text(made: Plan, command: list[str]) -> str:
    text = io.StringIO()
    print_plan(Console(file=text, width=300), made, command=command)
    return text.getvalue()


def test_one_command_builds_what_all_dropped_rows_lack() -> None:
    where = unready(("bus", "rust"), ("tram", "rust"), ("tram", "python"))
    made = make_plan(where, transport=["bus", "tram"], language=["rust", "python"], wait="block", cores="free")
    shown = print_to_text(made, COMMAND)
    assert shown.count("--build") == 1 and ONE in shown and "hopmeter build" not in shown
    assert ONE in print_to_text(made, [*COMMAND, "--dry-run"]), "the command that measures"
    assert "hopmeter build" in print_to_text(made, [*COMMAND, "--build"]), (
        "what --build does not build has its own remedy"
    )


def test_a_run_without_any_cell_names_the_same_command() -> None:
    made = make_plan(unready(("bus", "rust")), wait="block", cores="free")
    with refuses(UsageError, f"E-NO-CELLS {ONE.split()[-1]}"):
        planning.check_measurable(made, COMMAND)
    with refuses(UsageError, "E-NO-CELLS hopmeter build it"):
        planning.check_measurable(made)


class Workshop:
    """A replacement for the build tools, which succeeds for the given parts and fails for all others."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *fails: str) -> None:
        self.built: set[tuple[str, str]] = set()
        self.fails = fails
        monkeypatch.setattr(work, "workshop", lambda: tmp_path)
        monkeypatch.setattr(paths, "checkout", lambda: None)
        monkeypatch.setattr(work, "readiness", lambda one, language: Readiness(one.name, language, ready=True))
        monkeypatch.setattr(work, "BUILDERS", dict.fromkeys(work.BUILDERS, self.build))

    def build(self, target: Target, _: Path) -> None:
        if target.transport in self.fails:
            raise BuildError("E-COMMAND-FAILED", "the compiler failed", "mend it")
        self.built.add((target.transport, target.language))

    def plan(self) -> Prepared:
        where = unready(*({("bus", "rust"), ("tram", "rust")} - self.built))
        made = make_plan(where, transport=["bus", "tram"], wait="block", cores="free")
        return Prepared(made, where)


def test_what_is_built_is_measured_and_what_fails_drops_its_row_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workshop = Workshop(tmp_path, monkeypatch, "tram")
    notes = Consoles.on_stderr().notes
    prepared = building.build_lacking(workshop.plan(), workshop.plan, notes)
    bus, tram = (next(cell for cell in prepared.plan.cells if cell.axes.transport == name) for name in ("bus", "tram"))
    assert bus.dropped == "" and workshop.built == {("bus", "rust")}
    assert lacking(tram.dropped, "D-BUILD-FAILED tram rust compiler mend") == []
    shown = capsys.readouterr().err
    assert "building 2 adapters: bus (rust), tram (rust)" in shown and "the compiler failed" in shown


def test_a_silent_program_prints_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workshop = Workshop(tmp_path, monkeypatch)
    prepared = planning.build_first(workshop.plan, Consoles.silent().notes)
    assert not any(cell.dropped for cell in prepared.plan.cells) and "".join(capsys.readouterr()) == ""


def test_what_a_host_lacks_is_ordered_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All hosts get the same build request. Parts that are still missing after the build are not requested again."""
    orders: list[tuple[Any, ...]] = []

    def build(_: object, order: BuildOrder) -> Iterator[HostOutcome]:
        orders.append((order.transports, order.languages, order.messages))
        yield HostOutcome("b", "bus rust", code="E-COMMAND-FAILED", error="the compiler failed")

    monkeypatch.setattr(building, "build_on_hosts", build)
    ready = {("bus", "rust"): Readiness("bus", "rust", ready=False, missing="?", get="hopmeter build bus")}
    hosts = {"a": HostFacts("a", is_here=True), "b": HostFacts("b", ready=ready, cores=(0, 1))}
    where = replace(capabilities(transport("bus")), hosts=hosts)
    made = Prepared(make_plan(where, wait="block", cores="free"), where, hosts=cast("HostSession", object()))
    prepared = building.build_lacking(made, lambda: made, Consoles.silent().notes)
    assert orders == [(["bus"], ["rust"], ())]
    assert lacking(prepared.plan.cells[0].dropped, "D-HOST-LACKS b bus") == []
