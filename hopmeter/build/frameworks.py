"""Installs the frameworks of codecs, and reports which frameworks are installed and how large the others are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hopmeter.build.command import BuildError
from hopmeter.build.languages import required_project
from hopmeter.build.languages.python import install as install_packages
from hopmeter.build.languages.python import make
from hopmeter.build.work import workshop
from hopmeter.codecs import comparison, lookup
from hopmeter.errors import UsageError
from hopmeter.manifest import codec_interpreter
from hopmeter.manifest.interpreter import Interpreter, NoPythonError, folder, ours, own
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.tables.language_part import Offer
from hopmeter.system import humanize
from hopmeter.system.toml_files import one_of

ALL = "all"
EXTRAS = {"video": (34, 104)}
"""Extras that have no codec but are installed like frameworks, with their download size and size on disk in
megabytes."""
LINE_MBIT_S = 100
"""The assumed bandwidth in Mbit/s for estimates of download times."""


@dataclass(frozen=True)
class State:
    """Whether a codec's framework is installed, and how to install it."""

    name: str
    ready: bool
    version: str = ""
    environment: str = ""
    """The name of the codec's separate environment. The name is empty if the codec uses hopmeter's own Python."""
    missing: str = ""
    get: str = ""

    def as_json(self) -> dict[str, str | bool | None]:
        """Return the state as a JSON object for `hopmeter codecs --json`."""
        texts = {"version": self.version, "environment": self.environment, "missing": self.missing, "get": self.get}
        return {"codec": self.name, "ready": self.ready, **{key: text or None for key, text in texts.items()}}


def select(names: Iterable[str]) -> list[str]:
    """Return the named frameworks, where `all` stands for every framework that does not need a GPU.

    Raises UsageError for an unknown name.
    """
    known = [*lookup.codecs(), *comparison.comparison_codecs(), *EXTRAS]
    wanted = dict.fromkeys(names)
    for name in wanted:
        if name not in (*known, ALL):
            raise UsageError("E-UNKNOWN-FRAMEWORK", f"framework {one_of(name, [*known, ALL])}")
    everything = [name for name in codec_interpreter.frameworks() if not _needs_gpu(name)]
    return list(dict.fromkeys(each for name in wanted for each in (everything if name == ALL else [name])))


def _needs_gpu(name: str) -> bool:
    """Return whether a framework needs a GPU."""
    form = getattr(lookup.codec_named(name), "FORM", None)
    return form is not None and not form.cpu


def format_cost(name: str) -> str:
    """Describe a framework's download size, download time and size on disk."""
    codecs = getattr(lookup.codecs().get(name), "MEGABYTES", (5, 10))
    download, disk = EXTRAS.get(name, codecs)
    took = humanize.time(download * 8 / LINE_MBIT_S)
    return (
        f"{name}: {humanize.size(download)} to download, {took} at {LINE_MBIT_S} Mbit/s; {humanize.size(disk)} on disk"
    )


def install(name: str, log: Path, manifest: Manifest | None = None) -> None:
    """Install a framework. If a manifest is given, install the framework into the environment of the manifest's
    transport.

    Raises BuildError if a tool fails, or if only the user can install the framework.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    remedy = f"correct the cause, then run `{command(name, manifest)}`"
    offer = manifest.offers["python"] if manifest is not None else None
    if name in EXTRAS:
        return install_packages(ours().program, codec_interpreter.extra(name), log, remedy)
    if offer is not None and offer.interpreter == "system":
        return _require_system_package(name, offer)
    environment = codec_interpreter.joint_environment(name, offer) if offer else _alone(name)
    if environment is None:
        return install_packages(ours().program, codec_interpreter.requirements(name), log, remedy)
    make(folder(environment), log, remedy)
    python = Interpreter(folder(environment) / "bin/python", ())
    packages = [*codec_interpreter.requirements(name), *(offer.pip if offer else ())]
    install_packages(python.program, packages, log, remedy, offer.environment_name if offer else "")
    if manifest is not None and offer is not None:
        required_project.install(manifest, offer, python, workshop(), log)
    return None


def _require_system_package(name: str, offer: Offer) -> None:
    try:
        codec_interpreter.interpreter(name, offer)
    except NoPythonError as none:
        raise BuildError("E-NO-PYTHON", str(none), none.remedy) from none


def _alone(name: str) -> str | None:
    return f"codec-{name}" if codec_interpreter.apart(name) else None


def states() -> list[State]:
    """Return, for each codec, whether its framework is installed and how to install it."""
    return [_state(name) for name in (*lookup.codecs(), *comparison.comparison_codecs())]


def _state(name: str) -> State:
    environment = _alone(name) or ""
    python = own(environment) if environment else ours()
    if python is None or not codec_interpreter.has(python, name):
        return State(
            name, ready=False, environment=environment, missing="the framework is not installed", get=command(name)
        )
    return State(name, ready=True, version=codec_interpreter.versions(name, python)[0], environment=environment)


def command(name: str, manifest: Manifest | None = None) -> str:
    """Return the command that installs a framework. If a manifest is given, the command installs the framework for the
    nodes of the manifest's transport."""
    return f"hopmeter build {manifest.reference} --framework {name}" if manifest else lookup.command(name)


def wanting(name: str, manifests: Iterable[Manifest]) -> list[Manifest]:
    """Return those of the given transports whose environments need a copy of the framework."""
    if name in EXTRAS:
        return []
    offers = [(manifest, manifest.offers["python"]) for manifest in manifests if "python" in manifest.offers]
    return [
        manifest
        for manifest, offer in offers
        if offer.is_installed and offer.pip and codec_interpreter.joint_environment(name, offer)
    ]
