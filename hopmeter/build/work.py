"""Builds targets one after the other. One that fails stops no other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopmeter import places
from hopmeter.build import cpp, python, rust, system
from hopmeter.build.command import BuildError
from hopmeter.build.targets import Target
from hopmeter.manifest import readiness


@dataclass
class Outcome:
    """How one target went."""

    target: Target
    seconds: float = 0.0
    version: str = ""
    error: str = ""
    remedy: str = ""
    detail: str = field(default="", repr=False)
    missing: list[str] = field(default_factory=list)
    """Packages of the system without which it could not be built."""

    @property
    def good(self) -> bool:
        """Whether there is now a node that runs."""
        return not self.error

    def as_json(self) -> dict[str, Any]:
        """One line of `hopmeter build --json`."""
        return {
            "transport": self.target.transport,
            "language": self.target.language,
            "ready": self.good,
            "version": self.version or None,
            "seconds": round(self.seconds, 1),
            "error": self.error or None,
            "remedy": self.remedy or None,
            "log": str(log_of(self.target)),
        }


def build_all(targets: Iterable[Target], begin: Callable[[Target], None]) -> Iterator[Outcome]:
    """Builds each and answers as it is done; `begin` is told before."""
    for target in targets:
        begin(target)
        yield build_one(target)


def build_one(target: Target) -> Outcome:
    """Builds a target, and proves that its node runs."""
    started = time.monotonic()
    outcome = Outcome(target)
    try:
        log = log_of(target)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("")
        _demand(target)
        BUILDERS[target.language](target, log)
        outcome.version = _proved(target)
    except BuildError as error:
        _explain(outcome, error)
    outcome.seconds = time.monotonic() - started
    return outcome


def _demand(target: Target) -> None:
    user = target.offer.user
    if user is not None and not user.is_here:
        raise BuildError(f"{target.manifest.title} is not installed here", user.remedy)


def _explain(outcome: Outcome, error: BuildError) -> None:
    outcome.error, outcome.remedy, outcome.detail = error.what, error.remedy, error.detail
    outcome.missing = system.missing(outcome.target.offer.apt)
    if outcome.missing:
        # What the compiler says about a header it does not find is no help.
        outcome.error = f"{' and '.join(outcome.missing)} {'is' if len(outcome.missing) == 1 else 'are'} not installed"
        outcome.remedy, outcome.detail = system.line_for(outcome.missing), ""


def workshop() -> Path:
    """Where what is made on the way lies: in a checkout `build/`, else in the user's cache."""
    tree = places.checkout()
    return tree / "build" if tree else places.cache() / "build"


def log_of(target: Target) -> Path:
    """Where everything goes that the tools say."""
    return workshop() / "logs" / f"{target.file_name}.log"


def _rust(target: Target, log: Path) -> None:
    tree = places.checkout()
    if tree is not None:
        rust.build(target.transport, tree, places.built(), log)
    elif places.node(target.transport, "rust") is None:
        node = places.node_name(target.transport, "rust")
        raise BuildError(f"{node} did not come with this package", "build it in a checkout of hopmeter, with Rust")


def _cpp(target: Target, log: Path) -> None:
    _library(target, log)
    node = places.built() / places.node_name(target.transport, "c++")
    cpp.build(target.transport, target.source, _kit(log), workshop() / target.file_name, node, log)


def _kit(log: Path) -> cpp.Kit:
    tree = places.checkout()
    if tree is not None:
        return cpp.Kit(tree / "cpp/cmake", rust.build_library(tree, log), places.node_folders())
    return cpp.Kit(places.data() / "cpp/cmake", places.data() / "cpp/lib/libhopmeter.a", places.node_folders())


def _python(target: Target, log: Path) -> None:
    _library(target, log)
    python.build(target.offer, log)


def _library(target: Target, log: Path) -> None:
    """The C library that some transports have in Rust for their other languages; a package brings it along."""
    tree = places.checkout()
    if tree is not None and rust.offers_library(target.transport, tree):
        rust.build(target.transport, tree, places.built(), log)


BUILDERS: dict[str, Callable[[Target, Path], None]] = {"rust": _rust, "c++": _cpp, "python": _python}


def _proved(target: Target) -> str:
    """The version that the node reports; one that does not start was not built."""
    answer = readiness(target.manifest, target.language)
    if not answer.ready:
        raise BuildError(f"it is built, but {answer.missing}", f"mend {target.source}, or what it needs")
    return answer.version
