"""Builds another git revision of this checkout, in a copy with its own environment and nodes."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hopmeter.build.command import run_logged
from hopmeter.errors import UsageError
from hopmeter.manifest import Manifest, Readiness, every
from hopmeter.manifest.readiness import SPEC_FORMAT, describe
from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.plan import Plan
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.expand import profile_of
from hopmeter.plan.rules import languages
from hopmeter.plan.sides import OldSide, cells_with_sides
from hopmeter.system import paths

FORMAT_FILE = "instrument/src/spec.rs"
SOURCE_FORMAT = "const SPEC_FORMAT: u32 = "
AdapterKey = tuple[str, str]
"""A transport and a language."""


@dataclass(frozen=True)
class Revision:
    """A git revision of the checkout, and the copy of its files."""

    name: str
    """The revision's name as the user wrote it."""
    commit: str
    tree: Path

    @property
    def python(self) -> Path:
        """Return the path of the Python in the revision's environment."""
        return self.tree / ".venv/bin/python"

    @property
    def log(self) -> Path:
        """Return the path of the revision's build log."""
        return self.tree.with_name(f"{self.tree.name}.log")

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables that make the revision's programs import the revision's own package."""
        return {"PYTHONPATH": str(self.tree)}


def side(name: str, plan: Plan, capabilities: Capabilities, say: Callable[[str], object]) -> OldSide:
    """Build a revision's nodes, and return the comparison side that uses them.

    Raises UsageError if the revision does not exist or its spec format differs from this checkout's, and BuildError if
    a build fails.
    """
    revision = find(name)
    _check_source(revision)
    needed = {(cell.axes.transport, language) for cell in cells_with_sides(plan) for language in languages(cell)}
    _build(revision, sorted(needed), say)
    manifests = every([revision.tree / "transports"])
    ready = {pair: _readiness(revision, manifests[pair[0]], pair[1]) for pair in needed if _is_offered(manifests, pair)}
    _check_nodes(name, ready.values())
    old = Capabilities(
        manifests, ready, capabilities.machine, capabilities.carrier, describe=partial(_readiness, revision)
    )

    def old_cell(cell: Cell) -> Cell:
        return _old_cell(cell, capabilities.manifests[cell.axes.transport], manifests.get(cell.axes.transport))

    return OldSide(name, old, old_cell, revision.commit)


def find(name: str) -> Revision:
    """Find a git revision of this checkout by its name.

    Raises UsageError if hopmeter does not run from a checkout, or if the revision does not exist.
    """
    checkout = paths.checkout()
    if checkout is None or not (checkout / ".git").exists():
        why = f"--against {name}: only a checkout of hopmeter has revisions"
        raise UsageError("E-AGAINST", why, "name a setting (set:NAME=VALUE) or a version (TRANSPORT@VERSION)")
    asked = ["git", "-C", str(checkout), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        why = f"--against {name}: there is no such git revision, and no transport or package of this name"
        raise UsageError("E-AGAINST", why, "write set:NAME=VALUE, TRANSPORT@VERSION or a git revision")
    commit = answer.stdout.strip()
    return Revision(name, commit, checkout / "build/against" / commit[:12])


def _build(revision: Revision, needed: list[AdapterKey], say: Callable[[str], object]) -> None:
    if not revision.tree.exists():
        say(f"copying revision {revision.name} to {revision.tree}")
        copy_files(revision)
    if not revision.python.exists() or not any(revision.tree.glob("hopmeter/_instrument*.so")):
        say(f"creating the environment of {revision.name}; the first time takes minutes")
        _make_environment(revision)
    for transport, language in needed:
        if not _is_built(revision, transport, language):
            say(f"building {transport} ({language}) of {revision.name}")
            _build_node(revision, transport, language)


def copy_files(revision: Revision) -> None:
    """Copy the revision's files. The directory has a temporary name until all files are copied."""
    checkout = revision.tree.parents[2]
    partial = revision.tree.with_name(f"{revision.tree.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        archive = subprocess.run(
            ["git", "-C", str(checkout), "archive", revision.commit], capture_output=True, check=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            if hasattr(tarfile, "tar_filter"):
                files.extraction_filter = tarfile.tar_filter  # tarfile has no extraction filters in Python 3.11.2
            files.extractall(partial)
        partial.rename(revision.tree)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _remedy(revision: Revision) -> str:
    return f"read {revision.log}; to start again from scratch, run `rm -r {revision.tree}`"


def _make_environment(revision: Revision) -> None:
    run_logged(
        ["sh", "setup/environment.sh"],
        revision.log,
        cwd=revision.tree,
        env={"PYTHON": sys.executable, **_cargo(revision)},
        remedy=_remedy(revision),
    )


def _cargo(revision: Revision) -> dict[str, str]:
    """Return the environment variables that give each revision its own target directory.

    Cargo compares only file times, so in a shared target directory it would reuse crates of other revisions.
    """
    return {"CARGO_TARGET_DIR": str(revision.tree / "target")}


def _build_node(revision: Revision, transport: str, language: str) -> None:
    run_logged(
        [revision.python, "-m", "hopmeter", "build", transport, "--language", language],
        revision.log,
        cwd=revision.tree,
        env={**revision.environment, **_cargo(revision)},
        remedy=_remedy(revision),
    )
    _stamp(revision, transport, language).touch()


def _stamp(revision: Revision, transport: str, language: str) -> Path:
    folder = revision.tree / "build"
    folder.mkdir(exist_ok=True)
    return folder / f".built-{transport}-{paths.language_word(language)}"


def _is_built(revision: Revision, transport: str, language: str) -> bool:
    return _stamp(revision, transport, language).exists()


def _is_offered(manifests: dict[str, Manifest], pair: AdapterKey) -> bool:
    return pair[0] in manifests and pair[1] in manifests[pair[0]].offers


def _readiness(revision: Revision, manifest: Manifest, language: str) -> Readiness:
    environment = {**revision.environment, **manifest.variables}
    return describe(manifest, language, _command(revision, manifest, language), environment)


def _command(revision: Revision, manifest: Manifest, language: str) -> list[str]:
    if language != "python":
        return [str(revision.tree / "build/nodes" / paths.node_name(manifest.name, language))]
    start = str(revision.tree / "hopmeter/node/start.py")
    own = revision.tree / "build/environments" / manifest.name / "bin/python"
    if manifest.offers[language].environment == "own":
        return [str(own), "-P", start]
    return [str(revision.python), "-P", start]


def _check_source(revision: Revision) -> None:
    """Raise UsageError if the spec format of the revision's source differs from this checkout's."""
    found = re.search(rf"{SOURCE_FORMAT}(\d+)", _git(revision, "show", f"{revision.commit}:{FORMAT_FILE}"))
    if found and int(found[1]) != SPEC_FORMAT:
        this = f"-S{SOURCE_FORMAT}{SPEC_FORMAT}"
        since = _git(revision, "log", "--reverse", "--format=%h", this, "--", FORMAT_FILE).split()
        raise UsageError(
            "E-AGAINST-FORMAT",
            f"--against {revision.name}: its nodes read spec format {found[1]}, but this version of hopmeter writes "
            f"{SPEC_FORMAT}",
            f"choose a revision since {since[0]}" if since else "choose a revision with the same format",
        )


def _git(revision: Revision, *words: str) -> str:
    """Return the output of a git command in the checkout, or an empty string if the command fails."""
    command = ["git", "-C", str(revision.tree.parents[2]), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _check_nodes(name: str, ready: Iterable[Readiness]) -> None:
    if outdated := [state for state in ready if state.code == "E-NODE-OUTDATED"]:
        raise UsageError(
            "E-AGAINST-FORMAT",
            f"--against {name}: its node of {outdated[0].transport} does not read spec format {SPEC_FORMAT}",
            "choose a revision with the same format",
        )


def _old_cell(cell: Cell, new: Manifest, old: Manifest | None) -> Cell:
    """Return the cell for the old side of a comparison, using the transport's manifest from the old version. The
    returned cell contains only the settings whose values differ from the defaults."""
    if cell.has_codec:
        return replace(cell, dropped=tag("D-SIDE-CODEC", "the environment of the old side has no framework"))
    if old is None or not set(languages(cell)) <= set(old.offers):
        return replace(
            cell, dropped=tag("D-NO-OLD-SIDE", f"the old side has no transport {new.name} ({cell.axes.language})")
        )
    given = {name: value for name, value in cell.carriage.settings.items() if value != new.settings[name].default}
    if unknown := [name for name in given if name not in old.settings]:
        return replace(cell, dropped=tag("D-NO-OLD-SIDE", f"{new.name} of the old side has no setting {unknown[0]}"))
    offer = old.offers[languages(cell)[0]]
    return cell.with_values(
        settings=old.resolve_settings(given),
        profile=profile_of(old, given),
        rpc=old.rpc or "duplex",
        send=offer.send,
        forward=offer.forward,
        system_copies=old.system_copies,
    )
