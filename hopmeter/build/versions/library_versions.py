"""Installs another version of a transport's Python library, such as `zeromq@26.0.0`, in a separate environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from hopmeter.build.languages import python
from hopmeter.errors import UsageError
from hopmeter.manifest import Manifest, Readiness
from hopmeter.manifest.interpreter import Interpreter, folder, own
from hopmeter.manifest.readiness import describe
from hopmeter.manifest.requirement import here
from hopmeter.manifest.tables.installation import Installation
from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.plan import Plan
from hopmeter.plan.capabilities import Capabilities
from hopmeter.plan.sides import OldSide, node_side, why_unused
from hopmeter.system import humanize

LANGUAGE = "python"


@dataclass(frozen=True)
class Library:
    """A chosen version of a transport's Python package."""

    manifest: Manifest
    package: str
    """The package's requirement in the manifest. The requirement is empty if the transport has no Python package."""
    version: str

    @property
    def name(self) -> str:
        """Return the library's reference, `TRANSPORT@VERSION`."""
        return f"{self.manifest.name}@{self.version}"


def parse(name: str, capabilities: Capabilities) -> Library | None:
    """Return the library for `NAME@VERSION`, where NAME is a transport or a Python package.

    Return None if no library matches.
    """
    word, at, version = name.partition("@")
    if not at or not version or version.startswith("{"):
        return None
    if word in capabilities.manifests:
        manifest = capabilities.manifests[word]
        return Library(manifest, next(iter(_packages(manifest)), ""), version)
    found = [
        (each, text)
        for each in capabilities.manifests.values()
        for text in [*_packages(each), *_installed_packages(each)]
    ]
    return next((Library(each, text, version) for each, text in found if Requirement(text).name == word), None)


def _packages(manifest: Manifest) -> list[str]:
    offer = manifest.offers.get(LANGUAGE)
    return [text for each in (offer.pip if offer else []) if (text := here(each))]


def _installations(manifest: Manifest) -> Mapping[str, Installation]:
    """Return the installations of the transport's Python library, between which a setting chooses."""
    part = manifest.languages.get("python")
    return part.installations if part else {}


def _installed_packages(manifest: Manifest) -> list[str]:
    made = _installations(manifest).values()
    return [text for each in made for one in each.pip if (text := here(one))]


def has_cells(library: Library, plan: Plan) -> bool:
    """Return whether the run has cells that use the package."""
    return bool(library.package) and any(not _why_same(cell, library.manifest.name) for cell in plan.runnable)


def side(library: Library, plan: Plan, capabilities: Capabilities, say: Callable[[str], object]) -> OldSide:
    """Install a library version, and return the comparison side that uses it.

    Raises UsageError if no cell of the run uses the package, and BuildError if the package cannot be installed.
    """
    name = library.manifest.name
    if _installations(library.manifest):
        raise UsageError("E-AGAINST", f"--against {library.name}: {_whole(library)}", _other_installations(library))
    if not has_cells(library, plan):
        raise UsageError("E-AGAINST", f"--against {library.name}: {_refusal(library)}", _remedy(library))
    say(f"installing {name} {library.version} into a separate environment")
    return node_side(library.name, capabilities, _install(library), lambda cell: _why_same(cell, name))


def _whole(library: Library) -> str:
    """Return the reason why the packages of a transport's installations have fixed versions.

    The reason names the installation that contains the requested version, if such an installation exists.
    """
    wanted = f"{Requirement(library.package).name}=={library.version}" if library.package else ""
    made = _installations(library.manifest)
    having = [word for word, each in made.items() if wanted in (text.partition(";")[0].strip() for text in each.pip)]
    example = f"; {library.version} is that of {having[0]}" if having else ""
    return f"the packages of {library.manifest.name} are installed together, only in fixed versions{example}"


def _other_installations(library: Library) -> str:
    chosen: dict[str, list[str]] = {}
    for each in _installations(library.manifest).values():
        for name, values in each.where.items():
            chosen[name] = [*chosen.get(name, []), *map(humanize.setting, values)]
    words = " ".join(f"--set {name}={','.join(values)}" for name, values in chosen.items())
    return f"compare installations in one run instead: {words} --language {LANGUAGE}"


def _refusal(library: Library) -> str:
    """Return the reason why no cell of the run can compare two versions of this library."""
    if library.package:
        package = Requirement(library.package).name
        return f"only a Python node without a codec can use another version of {package}, and this run has no such node"
    apt = [package for offer in library.manifest.offers.values() for package in offer.apt]
    if apt:
        return (
            f"{library.manifest.name} comes from a system package ({', '.join(apt)}), of which only one version exists"
        )
    return f"{library.manifest.name} has no Python package or Rust crate whose version you could choose"


def _remedy(library: Library) -> str:
    if library.package:
        return f"add --transport {library.manifest.name} --language python"
    return "compare two git revisions whose manifests name the versions"


def _why_same(cell: Cell, transport: str) -> str:
    unused = why_unused(cell, transport, LANGUAGE)
    if cell.has_codec and not unused:
        return tag("D-SIDE-CODEC", "the environment of the old side has no framework for a codec")
    return unused


def _install(library: Library) -> Readiness:
    """Return a node in an environment that contains the chosen library version. An existing environment is reused if it
    is complete."""
    environment = f"against-{library.manifest.name}-{library.version}"
    found = own(environment)
    if found is None or not (folder(environment) / "complete").exists():
        found = _make(library, environment)
    return describe(library.manifest, LANGUAGE, found.command)


def _make(library: Library, environment: str) -> Interpreter:
    log = _log(environment)
    remedy = f"choose a version that exists for this Python; {library.package} is the requirement of the adapter"
    python.make(folder(environment), log, remedy)
    packages = [_pin(text, library) for text in _packages(library.manifest)]
    python.install(folder(environment) / "bin/python", packages, log, remedy)
    (folder(environment) / "complete").touch()
    found = own(environment)
    assert found is not None
    return found


def _pin(text: str, library: Library) -> str:
    requirement = Requirement(text)
    if text != library.package:
        return text
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}=={library.version}"


def _log(environment: str) -> Path:
    log = folder(environment).parent.parent / "logs" / f"{environment}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    return log
