"""Run a scenario from a Python program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hopmeter.api import measuring, planning
from hopmeter.api.measuring import Consoles, Outcome, StoppedRunError
from hopmeter.api.options import check_names, check_resume_alone, scenario_options
from hopmeter.api.runs import Run, RunPath, open_run
from hopmeter.hosts.coordinator.host_options import HostOptions
from hopmeter.scenario.resolve import DEFAULTS


def run(
    scenario: RunPath | None = None,
    *,
    against: str | None = None,
    full: bool = False,
    out: RunPath | None = None,
    resume: RunPath | None = None,
    progress: bool = False,
    build: bool = False,
    hosts: RunPath | None = None,
    cluster: str | None = None,
    **options: Any,
) -> Run:
    """Run a scenario, by default `quick`, or resume the run in the directory `resume`, and return the results.

    All options have the names and meanings of `hopmeter run`, such as `transport=["zenoh", "shm"]`, `budget="30s"` or
    `set={"hwm": [10, 1000]}`. Each value is a command-line string, a number, or a list. With `progress`, notes and
    progress are printed on stderr; by default, nothing is printed.

    With `build`, hopmeter first builds the missing parts of the cells: adapters, message code and codec frameworks. If
    a part could not be built, the cells that need the part are dropped, and the reason is recorded.

    `hosts` is a file that lists other machines, and `cluster` is the address of a Dask scheduler. The Dask
    configuration names the TLS certificates for the scheduler.

    Raises UsageError before the measurement if an option is invalid, and KeyboardInterrupt on Ctrl-C. On Ctrl-C, the
    message and the attribute `folder` of KeyboardInterrupt name the directory with the finished trials. Ctrl-C ends a
    run only if `run` was called from the main thread.
    """
    consoles = Consoles.on_stderr() if progress else Consoles.silent()
    named = HostOptions(None if hosts is None else Path(hosts), cluster)
    if resume is not None:
        check_resume_alone(Path(resume), scenario is not None, against, full, build, out is not None, options)
        with named.open() as session:
            return _open(measuring.resume(Path(resume), consoles, session))
    settings = join_settings(options.pop("set", ()))
    check_names(options)
    name = "quick" if scenario is None else str(scenario)
    given = scenario_options(options)
    command = [*command_words(name, options, settings, full, against), *(["--build"] if build else []), *named.words]
    with named.open() as session:
        prepared = planning.prepare(name, given, settings, full, against, consoles.notes, session, build=build)
        return _open(measuring.measure(prepared, None if out is None else Path(out), command, consoles))


def _open(outcome: Outcome) -> Run:
    if not outcome.complete:
        raise StoppedRunError(outcome.folder)
    return open_run(outcome.folder.path)


def join_settings(given: str | Iterable[str] | Mapping[str, Any]) -> list[str]:
    """Return settings as strings such as `hwm=10,1000`."""
    if isinstance(given, Mapping):
        return [f"{name}={_join(value)}" for name, value in given.items()]
    return [given] if isinstance(given, str) else list(given)


def command_words(
    scenario: str, options: Mapping[str, Any], settings: Iterable[str], full: bool, against: str | None
) -> list[str]:
    """Return the arguments of the `hopmeter run` command that has the same effect as these options."""
    words = ["hopmeter", "run", scenario, *option_words(options)]
    words += [word for each in settings for word in ("--set", each)]
    return [*words, *(["--full"] if full else []), *(["--against", against] if against else [])]


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Return options as command-line arguments."""
    return [word for name, value in options.items() for word in _option_words(name, value)]


def _option_words(name: str, value: Any) -> list[str]:
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}".replace("--no-no-", "--")]
    if isinstance(value, list | tuple) and name not in DEFAULTS:
        return [word for each in value for word in (f"--{option}", str(each))]
    return [] if value is None else [f"--{option}", _join(value)]


def _join(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
