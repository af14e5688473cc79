"""Builds targets. Adapters in Rust, C++ and Python are built in parallel. If one target fails, the others are still
built."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hopmeter.build import jars, system
from hopmeter.build.command import BuildError
from hopmeter.build.languages import cpp, python, required_project, rust, rust_node
from hopmeter.build.targets import Target
from hopmeter.manifest import readiness
from hopmeter.system import paths, subprocesses


@dataclass
class Outcome:
    """The result of building one target."""

    target: Target
    seconds: float = 0.0
    version: str = ""
    error: str = ""
    code: str = ""
    remedy: str = ""
    detail: str = field(default="", repr=False)
    missing: list[str] = field(default_factory=list)
    """The missing system packages that the target needs."""

    @property
    def good(self) -> bool:
        """Return whether the build produced a working node."""
        return not self.error

    @property
    def is_unavailable(self) -> bool:
        """Return whether the target's library is not available for this system."""
        return bool(self.missing) or self.code == "E-NO-WHEEL"

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as a JSON object for `hopmeter build --json`."""
        return {
            "transport": self.target.transport,
            "language": self.target.language,
            "ready": self.good,
            "version": self.version or None,
            "seconds": round(self.seconds, 1),
            "error": self.error or None,
            "code": self.code or None,
            "remedy": self.remedy or None,
            "log": str(log_of(self.target)),
        }


COMPILERS = 2
"""The number of C++ adapters that are built in parallel.

Most C++ adapters are a single file, which takes one core and up to a gigabyte of memory to compile.
"""
LOOK_S = 0.2
MAY_LACK_PACKAGES = ("E-COMMAND-FAILED", "E-NODE-BROKEN", "E-NO-TOOL")
LACKS = re.compile(
    r"no module named|no such file|n[o']t find|not found|missing|cannot open shared object|cannot find", re.I
)
"""Matches messages of compilers, CMake and Python about a header, package or module that is not installed."""


def build_all(
    targets: Sequence[Target], begin: Callable[[Target], object], system_packages: bool = False
) -> Generator[Outcome]:
    """Build all targets, and yield each outcome as soon as its build ends. Before each build, the function `begin` is
    called on another thread.

    Rust targets are built one after another, because Cargo uses all cores. Python targets are built one after another,
    because uv locks an environment. If `system_packages` is set, missing system packages are installed while other
    targets are built. Targets that need system packages wait until these packages are installed.
    """
    tree = paths.checkout()
    packages = [package for target in targets for package in target.offer.apt] if system_packages else []
    with ExitStack() as stack:
        apt, cargo, uv, compilers = (stack.enter_context(ThreadPoolExecutor(n)) for n in (1, 1, 1, COMPILERS))
        pools = {"rust": cargo, "python": uv, "c++": compilers}
        installed = apt.submit(system.install, packages)
        if tree is not None and any(target.language == "c++" for target in targets):
            with suppress(BuildError):  # each target that needs the library reports the error
                _instrument(tree)
        begun: list[tuple[Target, Future[Outcome]]] = []
        for target in sorted(targets, key=_order):
            before = [made for other, made in begun if _is_needed(other, target)]
            begun.append((target, pools[target.language].submit(_build, target, begin, installed, before)))
        futures = [made for _, made in begun]
        try:
            yield from (each.result() for each in as_completed(futures))
        finally:
            _stop(futures)


def _order(target: Target) -> tuple[bool, float]:
    """Return a target's sort key.

    Targets that depend on another target come last. Among independent targets, the longest build starts first.
    """
    return target.offer.after is not None, -(target.offer.build_cost.seconds if target.offer.build_cost else 0.0)


def _is_needed(other: Target, by: Target) -> bool:
    return other.transport == by.transport and other.language == by.offer.after


def _build(
    target: Target,
    begin: Callable[[Target], object],
    installed: Future[list[str]],
    before: Sequence[Future[Outcome]],
) -> Outcome:
    wait(before)
    if target.offer.apt:
        installed.result()
    begin(target)
    return build_one(target)


def _stop(begun: Sequence[Future[Outcome]]) -> None:
    """Cancel running and queued builds after an interruption."""
    for each in begun:
        each.cancel()
    patience = time.monotonic() + subprocesses.GRACE_S
    while wait(begun, LOOK_S).not_done:
        subprocesses.stop(at_once=time.monotonic() > patience)


def build_one(target: Target) -> Outcome:
    """Build the adapter of a target, and check that the adapter's node starts. Errors are not raised, but reported in
    the outcome."""
    started = time.monotonic()
    outcome = Outcome(target)
    try:
        log = log_of(target)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("")
        _demand(target)
        jars.download(target.manifest, log)
        BUILDERS[target.language](target, log)
        outcome.version = _node_version(target)
    except BuildError as error:
        _explain(outcome, error)
    outcome.seconds = time.monotonic() - started
    return outcome


def _demand(target: Target) -> None:
    user = target.offer.user
    if user is not None and (problem := user.problem(target.manifest.title)):
        raise BuildError("E-NOT-INSTALLED", *problem)


def _explain(outcome: Outcome, error: BuildError) -> None:
    outcome.code, outcome.error = error.code, error.what
    outcome.remedy, outcome.detail = error.remedy, error.detail
    if error.code not in MAY_LACK_PACKAGES:
        return
    outcome.missing = system.missing(outcome.target.offer.apt)
    if not outcome.missing:
        return
    missing = f"{' and '.join(outcome.missing)} {'is' if len(outcome.missing) == 1 else 'are'} not installed"
    if LACKS.search(f"{error.what}\n{error.detail}"):
        # The missing package is reported instead of the compiler's message about a missing header, which would not help
        # the user.
        outcome.error, outcome.detail = missing, error.what
        outcome.code, outcome.remedy = "E-PACKAGES-MISSING", system.line_for(outcome.missing)
    else:
        outcome.remedy = f"{error.remedy}; {missing}, which may be the cause: {system.line_for(outcome.missing)}"


def workshop() -> Path:
    """Return the directory for intermediate files: `build/` in a checkout, otherwise a directory in the user's
    cache."""
    tree = paths.checkout()
    return tree / "build" if tree else paths.cache() / "build"


def log_of(target: Target) -> Path:
    """Return the path of a target's log file."""
    return workshop() / "logs" / f"{target.file_name}.log"


def _rust(target: Target, log: Path) -> None:
    tree = paths.checkout()
    if tree is not None:
        if target.offer.environment == "own" and not readiness(target.manifest, "python").ready:
            _python(Target(target.manifest, target.manifest.offers["python"]), log)
        rust_node.build(target, tree, workshop(), log)
    elif paths.node(target.offer.node, "rust") is None:
        node = paths.node_name(target.offer.node, "rust")
        raise BuildError(
            "E-NOT-PACKAGED",
            f"this package of hopmeter does not contain {node}",
            "build it in a checkout of hopmeter, with Rust",
        )


def _cpp(target: Target, log: Path) -> None:
    _library(target, log)
    if target.offer.pip:
        python.build(target.manifest, target.offer, log)  # installs Python packages that contain C++ libraries
    required_project.install(target.manifest, target.offer, None, workshop(), log)
    node = paths.node_build_dir() / paths.node_name(target.transport, "c++")
    folder = workshop() / target.file_name
    cpp.build(target.transport, target.source, kit(), folder, node, log, required_project.mark(target.offer))


@cache
def _instrument(tree: Path) -> Path:
    """Return the static library that all C++ nodes link.

    The static library is built before all targets, so that no C++ build waits for Cargo.
    """
    log = workshop() / "logs" / "instrument.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    return rust.build_library(tree, log)


def kit() -> cpp.Kit:
    """Return the inputs for building C++ nodes. In a checkout, the instrument's library is built first."""
    tree = paths.checkout()
    if tree is not None:
        return cpp.Kit(tree / "cpp/cmake", _instrument(tree), paths.node_folders())
    return cpp.Kit(paths.data() / "cpp/cmake", paths.data() / "cpp/lib/libhopmeter.a", paths.node_folders())


def _python(target: Target, log: Path) -> None:
    _library(target, log)
    found = python.build(target.manifest, target.offer, log)
    required_project.install(target.manifest, target.offer, found, workshop(), log)


def _library(target: Target, log: Path) -> None:
    """Build the C library that some Rust adapters provide for other languages.

    If hopmeter is an installed package, do nothing, because the package already contains the library.
    """
    tree = paths.checkout()
    if tree is not None and rust.offers_library(target.transport, tree):
        rust.build(target.transport, tree, paths.node_build_dir(), log)


BUILDERS: dict[str, Callable[[Target, Path], None]] = {"rust": _rust, "c++": _cpp, "python": _python}


def _node_version(target: Target) -> str:
    """Return the version that the node reports. Raises BuildError if the node does not start."""
    answer = readiness(target.manifest, target.language)
    if not answer.ready:
        raise BuildError(
            "E-NODE-BROKEN",
            f"it was built, but {answer.missing}",
            f"correct {target.source}, or install the packages that it needs",
        )
    return answer.version
