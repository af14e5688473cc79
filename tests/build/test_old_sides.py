"""Tests for the builds that `--against` makes: another version of a Python library, or a git revision."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hopmeter.build.languages import python
from hopmeter.build.versions import crate_versions, library_versions, old_sides, revisions
from hopmeter.errors import UsageError
from hopmeter.manifest import Manifest, Readiness
from hopmeter.manifest.readiness import SPEC_FORMAT, describe
from hopmeter.messages import split_code
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.sides import add_old_sides
from hopmeter.system import paths
from tests.coded import refuses
from tests.plan.capabilities import capabilities, make_plan, transport

WAITS = {"waits": ["spin", "block"], "library": "L"}
BUS = transport("bus", languages={"rust": WAITS, "python": {**WAITS, "pip": ["some-bus[fast]==2.*", "helper>=1"]}})
SETS: dict[str, Any] = {
    "settings": {"line": {"default": "yours", "choices": ["yours", "red", "blue"], "help": "H."}},
    "languages": {
        "python": {
            **WAITS,
            "user": {"variable": "TRAM_HOME", "remedy": "install it", "otherwise": "red"},
            "installations": {
                "red": {"where": {"line": ["red"]}, "pip": ["tram==2.0", "rail==2.1"]},
                "blue": {"where": {"line": ["blue"]}, "pip": ["tram==1.0; python_version > '3'", "rail==1.4"]},
            },
        }
    },
}
APT = transport("train", languages={"c++": {**WAITS, "apt": ["libtrain-dev"]}})
PLAIN = transport("walk", languages={"rust": WAITS})


def prepare(name: str, where: Capabilities, **given: Any) -> Any:
    return old_sides.prepare(name, make_plan(where, **given), where, lambda _: None)


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("train@1.0", {"transport": "train", "language": "c++"}, "E-AGAINST libtrain-dev"),
        ("walk@1.0", {"transport": "walk"}, "E-AGAINST walk"),
        ("bus@1.0", {"transport": "bus", "language": "rust"}, "E-AGAINST some-bus --language"),
        ("no-such-revision", {"transport": "bus"}, "E-AGAINST no-such-revision set:NAME=VALUE"),
    ],
)
def test_what_cannot_be_had_in_two_versions_is_refused_with_the_reason(
    name: str, given: dict[str, Any], says: str
) -> None:
    with refuses(UsageError, says):
        prepare(name, capabilities(BUS, APT, PLAIN), **given)


@pytest.mark.parametrize("home", ["", "/opt/tram"])
@pytest.mark.parametrize(("name", "says"), [("tram@1.0", "blue"), ("rail@3.9", "together"), ("net@1.0", "together")])
def test_a_package_of_an_installation_has_no_other_version_and_installations_are_compared_by_their_setting(
    name: str, says: str, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAM_HOME", home)
    with refuses(UsageError, f"E-AGAINST net@ {says} line=red,blue"):
        prepare(name, capabilities(transport("net", **SETS)), transport="net", language="python")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    found: list[list[str]] = []

    def make(environment: Path, *_: Any) -> None:
        (environment / "bin").mkdir(parents=True)
        (environment / "bin/python").symlink_to(sys.executable)

    monkeypatch.setattr(library_versions, "folder", lambda name: tmp_path / "environments" / name)
    monkeypatch.setattr("hopmeter.manifest.interpreter.folder", lambda name: tmp_path / "environments" / name)
    monkeypatch.setattr(python, "make", make)
    monkeypatch.setattr(python, "install", lambda _, packages, *__: found.append(list(packages)))
    monkeypatch.setattr(
        library_versions,
        "describe",
        lambda manifest, language, command: Readiness(manifest.name, language, ready=True, command=tuple(command)),
    )
    return found


@pytest.mark.parametrize("name", ["bus@1.5", "some-bus@1.5"])
def test_another_version_is_installed_once_into_an_environment_of_its_own(
    name: str, installed: list[list[str]]
) -> None:
    where = capabilities(BUS)
    side = prepare(name, where, transport="bus", language="python")
    again = prepare(name, where, transport="bus", language="python")
    assert installed == [["some-bus[fast]==1.5", "helper>=1"]]
    command = side.capabilities.ready["bus", "python"].command
    assert command == again.capabilities.ready["bus", "python"].command
    assert "against-bus-1.5" in command[0]
    assert where.ready["bus", "python"].command == (), "the new side keeps its own node"


def test_cells_without_the_library_are_dropped(installed: list[list[str]]) -> None:
    where = capabilities(BUS, PLAIN)
    plan = make_plan(where, transport=["bus", "walk"], language="each")
    made = add_old_sides(plan, old_sides.prepare("bus@1.5", plan, where, lambda _: None))
    dropped = {(each.axes.transport, each.axes.language): split_code(each.dropped)[1] for each in made.cells}
    assert dropped["bus", "rust"] == dropped["walk", "rust"] == "D-SAME-SIDES"
    assert [each.axes.language for each in made.runnable if each.comparison.side] == ["python", "python"]


def test_a_revision_is_copied_whole_and_leaves_no_worktree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = checkout(tmp_path / "tree")
    monkeypatch.setattr(paths, "checkout", lambda: tree)
    git(tree, "commit", "-qam", "second", "--allow-empty")
    revision = revisions.find("HEAD~1")
    (tree / "file").write_text("changed")
    revisions.copy_files(revision)
    assert (revision.tree / "file").read_text() == "first"
    assert revision.tree.parent == tree / "build/against"
    assert [each.name for each in revision.tree.parent.iterdir()] == [revision.commit[:12]], "nothing half done"
    assert len(git(tree, "worktree", "list").splitlines()) == 1


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = checkout(tmp_path / "tree")
    monkeypatch.setattr(paths, "checkout", lambda: tree)
    revision = revisions.find("HEAD")

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tarfile.open", stop)
    with pytest.raises(KeyboardInterrupt):
        revisions.copy_files(revision)
    assert not list((tree / "build/against").iterdir())


def test_a_revision_whose_nodes_read_other_specs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    outdated = Readiness("bus", "rust", ready=False, code="E-NODE-OUTDATED", missing="it is old")
    with refuses(UsageError, "E-AGAINST-FORMAT main bus"):
        revisions._check_nodes("main", [outdated])


def test_a_revision_whose_source_has_another_format_is_refused_before_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = checkout(tmp_path / "tree")
    monkeypatch.setattr(paths, "checkout", lambda: tree)
    for number in (SPEC_FORMAT - 1, SPEC_FORMAT):
        file = tree / revisions.FORMAT_FILE
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"pub const SPEC_FORMAT: u32 = {number};\n")
        git(tree, "add", ".")
        git(tree, "commit", "-qm", f"format {number}")
    with refuses(UsageError, f"E-AGAINST-FORMAT HEAD~1 {SPEC_FORMAT - 1} {SPEC_FORMAT}") as refused:
        prepare("HEAD~1", capabilities(BUS), transport="bus")
    assert refused.value.remedy == f"choose a revision since {git(tree, 'rev-parse', '--short', 'HEAD').strip()}"
    assert not (tree / "build").exists()


def test_a_revision_that_cannot_be_read_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "checkout", lambda: checkout(tmp_path / "tree"))
    revisions._check_source(revisions.find("HEAD"))


def test_the_old_side_has_the_settings_of_the_old_manifest() -> None:
    settings = {"hwm": {"default": 10, "min": 0, "help": "H."}, "new": {"default": 1, "min": 0, "help": "N."}}
    now = transport("bus", settings=settings)
    before = transport("bus", settings={"hwm": {**settings["hwm"], "default": 5}})
    usual, high = make_plan(capabilities(now), settings={"bus": {"hwm": [10, 99]}}).cells[:2]
    recent = make_plan(capabilities(now), settings={"bus": {"new": [7]}}).cells[0]
    assert revisions._old_cell(usual, now, before).carriage.settings == {"hwm": 5}
    assert revisions._old_cell(high, now, before).carriage.settings == {"hwm": 99}
    assert split_code(revisions._old_cell(recent, now, before).dropped)[1] == "D-NO-OLD-SIDE"
    assert split_code(revisions._old_cell(usual, now, None).dropped)[1] == "D-NO-OLD-SIDE"


def rust_transport(folder: Path, dependency: str) -> Manifest:
    (folder / "rust").mkdir(parents=True)
    (folder / "rust/Cargo.toml").write_text(f'[dependencies]\nbytes = "1"\n{dependency}\n\n[features]\n')
    found = transport("cart", languages={"rust": {**WAITS, "library": "wheel 3.1"}})
    found._folder = folder
    return found


@pytest.mark.parametrize(
    "dependency",
    [
        'wheel = "3.1"',
        'wheel = { version = "3.1", features = ["fast"] }',
        'wheel = { default-features = false, version = "3.1" }',
        '\n[dependencies.wheel]\ndefault-features = false\nversion = "3.1"\nfeatures = ["fast"]',
    ],
)
def test_an_adapter_in_rust_requires_exactly_the_named_version_of_its_crate(dependency: str, tmp_path: Path) -> None:
    manifest = rust_transport(tmp_path, dependency)
    file = tmp_path / "rust/Cargo.toml"
    before = tomllib.loads(file.read_text())
    assert crate_versions.crate(manifest) == "wheel"
    crate_versions._require(file, "wheel", "2.9.0")
    after = tomllib.loads(file.read_text())
    wheel = after["dependencies"].pop("wheel")
    was = before["dependencies"].pop("wheel")
    assert (wheel["version"] if isinstance(wheel, dict) else wheel) == "=2.9.0"
    assert not isinstance(was, dict) or {**was, "version": "=2.9.0"} == wheel
    assert before == after


def test_a_version_names_the_crate_if_the_run_has_no_python_node_with_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = rust_transport(tmp_path, 'wheel = "3.1"')
    built: list[str] = []

    def build(one: Manifest, version: str, _: object) -> Readiness:
        built.append(f"{one.name} {version}")
        return Readiness(one.name, "rust", ready=True, command=("node",))

    monkeypatch.setattr(crate_versions, "_build", build)
    where = capabilities(manifest)
    side = prepare("cart@2.9.0", where, transport="cart")
    assert built == ["cart 2.9.0"]
    assert side.capabilities.ready["cart", "rust"].command == ("node",)


def test_the_copy_for_another_crate_has_the_changes_of_the_working_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = checkout(tmp_path / "tree")
    monkeypatch.setattr(paths, "checkout", lambda: tree)
    (tree / "file").write_text("changed")
    copy = crate_versions._copy_of("cart", "2.9.0")
    revisions.copy_files(copy)
    assert (copy.tree / "file").read_text() == "changed"
    assert copy.tree == crate_versions._copy_of("cart", "2.9.0").tree, "the same files have the same copy"
    assert (git(tree, "stash", "list"), git(tree, "status", "--porcelain", "file")) == ("", " M file\n")


def checkout(tree: Path) -> Path:
    tree.mkdir()
    git(tree, "init", "-q")
    git(tree, "config", "user.email", "a@example.org")
    git(tree, "config", "user.name", "A")
    (tree / "file").write_text("first")
    git(tree, "add", "file")
    git(tree, "commit", "-qm", "first")
    return tree


def git(tree: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", tree, *words], capture_output=True, text=True, check=True).stdout


def test_a_node_of_another_tree_describes_itself_with_its_own_variables(tmp_path: Path) -> None:
    node = tmp_path / "node"
    node.write_text('#!/bin/sh\necho "{\\"spec\\": 3, \\"version\\": \\"$TREE\\"}"\n'.replace("3", str(SPEC_FORMAT)))
    node.chmod(0o755)
    found = describe(BUS, "rust", [str(node)], {"TREE": "old"})
    assert (found.ready, found.version, found.environment) == (True, "old", {"TREE": "old"})
