"""Measure a user's messages or workload, and recommend a transport."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hopmeter import manifest, plan, scenario
from hopmeter.analysis.cells.other_requirements import judge_run
from hopmeter.analysis.results import run_results
from hopmeter.analysis.results.run_results import Row
from hopmeter.api import measuring, planning
from hopmeter.api.advice_request import Request
from hopmeter.api.example_values import example_pattern, example_values
from hopmeter.api.lossless import add_lossless, parse_requirements
from hopmeter.api.measuring import Consoles, StoppedRunError
from hopmeter.api.options import check_names, scenario_options
from hopmeter.api.planning import Prepared
from hopmeter.api.runs import Run, RunPath
from hopmeter.api.start import join_settings
from hopmeter.comparison.interleaved import is_comparable
from hopmeter.errors import UsageError
from hopmeter.hosts.coordinator.host_options import HostOptions
from hopmeter.hosts.coordinator.session import HostSession
from hopmeter.manifest.examples import Example, check_folder, find_example, write_examples
from hopmeter.model.language_names import languages_in
from hopmeter.plan import budget
from hopmeter.plan.build_remedy import COMMAND
from hopmeter.plan.capabilities import Capabilities
from hopmeter.report.advice.lines import RunAdvice
from hopmeter.system.humanize import time as humanize_time
from hopmeter.system.terminal import Console

BUDGET = "3m"
SHORTER_S = (2.0, 1.0, 0.5, 0.25)
"""The trial durations to try, longest first, until enough rounds fit into the budget."""
MARGIN = 1.2
"""Trials may take longer than planned by this factor."""
UNTIL_BEST = {"until": "best"}


class Advice:
    """The recommended transport for a workload, based on a run that measured it."""

    def __init__(self, found: RunAdvice, not_ready: Mapping[str, str] | None = None) -> None:
        self._found = found
        self.not_ready = dict(not_ready or {})
        """The transports that could not be measured on this machine, each with the command that installs it."""

    def __repr__(self) -> str:
        return f"<hopmeter.Advice: {self.lines['take']}>"

    @property
    def is_decided(self) -> bool:
        """Whether the run supports a recommendation. If the run supports no recommendation, `lines` names a command
        whose results could support one."""
        return self._found.take is not None

    @property
    def transport(self) -> str | None:
        """The recommended transport, or None if the run supports no recommendation."""
        return str(self._found.take["transport"]) if self._found.take else None

    @property
    def lines(self) -> dict[str, str]:
        """The advice in sentences, with the keys `take`, `better`, `cpu`, `settings` and `changes`."""
        return self._found.lines

    @property
    def run(self) -> Run:
        """The run on which the advice is based."""
        return Run(self._found.run)

    @property
    def examples(self) -> dict[str, Example | None]:
        """The example program for each recommended language, or None for a language without an example."""
        take = self._found.take
        known = manifest.every().get(str(take["transport"])) if take else None
        if take is None or known is None:
            return {}
        return {word: find_example(known, word, example_pattern(take)) for word in languages_in(str(take["language"]))}

    @property
    def named_rows(self) -> list[Row]:
        """The result rows of the recommended transport and of the user's current transport, if they exist."""
        return [row for row in (self._found.take, self._found.now_row) if row is not None]

    @property
    def example_gap(self) -> str:
        """A sentence that lists the languages without an example, or an empty string if there are none."""
        missing = [word for word, example in self.examples.items() if example is None]
        if not missing or self._found.take is None:
            return ""
        what = "messages" if example_pattern(self._found.take) == "pubsub" else "calls"
        return f"{self.transport} has no example with {what} in {', '.join(missing)} yet"

    def write_examples(self, folder: RunPath) -> list[Path]:
        """Write example programs for the recommended transport into a new directory, and return their paths.

        The examples use the pattern, payload size and rate of the user's messages or calls. Raises UsageError if no
        transport is recommended or no example exists.
        """
        place, examples = Path(folder), [each for each in self.examples.values() if each]
        check_folder(place)
        if not examples or self._found.take is None:
            raise UsageError(
                "E-NO-EXAMPLE",
                self.example_gap or "there is no recommendation, so there is no example",
                "`hopmeter transports NAME` shows the features of a transport",
            )
        return write_examples(examples, example_values(self._found.take), place)

    def as_json(self) -> dict[str, Any]:
        """Return the advice as data, with the keys of `hopmeter advise --json`."""
        examples = {word: str(each.path) if each else None for word, each in self.examples.items()}
        return {**self._found.as_json(), "not_ready": self.not_ready, "examples": examples}


def advise(
    scenario: RunPath | None = None,
    *,
    now: str | None = None,
    run: RunPath | Run | None = None,
    out: RunPath | None = None,
    progress: bool = False,
    build: bool = False,
    hosts: RunPath | None = None,
    cluster: str | None = None,
    **options: Any,
) -> Advice:
    """Measure a scenario or a workload, and recommend a transport. If `run` is given, base the advice on this stored
    run, and measure nothing.

    Without a scenario, `payload` and `rate` describe the messages. By default, hopmeter measures all installable
    transports that are ready on this machine. With `build`, hopmeter first builds the missing transports that it can
    build. `now` names your current transport. `hosts` and `cluster` have the same meaning as in `hopmeter.run`. All
    other options have the names and meanings of `hopmeter run`. The default budget is 3 minutes.

    Raises UsageError before the measurement if an option is invalid, and KeyboardInterrupt on Ctrl-C.
    """
    settings = join_settings(options.pop("set", ()))
    check_names(options)
    if run is not None:
        return advise_from(run.path if isinstance(run, Run) else Path(run), now, options.get("require", ()))
    consoles = Consoles.on_stderr() if progress else Consoles.silent()
    named = HostOptions(None if hosts is None else Path(hosts), cluster)
    return measure(
        Request.of(scenario, now, options, settings, named, build), None if out is None else Path(out), consoles
    )


def measure(asked: Request, out: Path | None, consoles: Consoles) -> Advice:
    """Measure the messages or the workload that the request describes, and return the advice. Raises StoppedRunError on
    Ctrl-C."""
    with asked.hosts.open() as session:
        prepared, not_ready = prepare(asked, session, consoles.notes)
        outcome = measuring.measure(prepared, out, asked.command, consoles)
    if not outcome.complete:
        raise StoppedRunError(outcome.folder)
    return Advice(RunAdvice(run_results.read(outcome.folder.path), asked.now), not_ready)


def prepare(
    asked: Request, hosts: HostSession | None = None, notes: Console | None = None
) -> tuple[Prepared, dict[str, str]]:
    """Plan a run whose trials fit into the time budget. Return the plan and the install command of each transport that
    is not ready.

    If `asked.build` is set, missing adapters and codecs are built first.
    """
    not_ready: dict[str, str] = {}

    def make_plan() -> Prepared:
        nonlocal not_ready
        prepared, not_ready = _plan(asked, hosts)
        return prepared

    prepared = planning.build_first(make_plan, notes or Consoles.silent().notes) if asked.build else make_plan()
    _check_now(asked.now, prepared)
    return _fit_budget(prepared), not_ready


def _plan(asked: Request, hosts: HostSession | None) -> tuple[Prepared, dict[str, str]]:
    """Plan a run of the transports that the user named. By default, plan all installable transports that are ready or
    that can be built on request."""
    capabilities = planning.local_capabilities(hosts)
    path = scenario.find(asked.scenario)
    _, toml = scenario.load(path)
    given = {"budget": BUDGET, **asked.given}
    if toml.get("search"):
        raise UsageError(
            "E-ADVISE-SEARCH",
            f"{path.stem} searches for the highest rate, so its transports have no latencies at the same rate",
            "name a scenario with rates",
        )
    if "until" not in given and not (given.get("require") or toml.get("require")) and not toml.get("flow"):
        given |= UNTIL_BEST
    chosen, not_ready = _transports(given.get("transport"), asked, capabilities)
    given["transport"] = chosen
    options = scenario_options(given)
    short = scenario.shorten(add_lossless(toml, given, chosen, capabilities), options)
    wanted = scenario.override(short, options, asked.settings, capabilities.manifests)
    own = scenario_options(asked.given)
    if (own or asked.settings) and not wanted.flow:
        wanted = planning.name_question(wanted, own, asked.settings, None)
    return Prepared(plan.make(path.stem, wanted, capabilities), capabilities, hosts=hosts), not_ready


def _transports(named: Any, asked: Request, capabilities: Capabilities) -> tuple[list[str], dict[str, str]]:
    """Return the transports to measure, and the install command of each transport that is not ready."""
    ready = {
        name for (name, _), state in capabilities.ready.items() if state.ready or (asked.build and _is_built_by(state))
    }
    own = manifest.find_transports([asked.now], dict(capabilities.manifests)) if asked.now else {}
    if named:
        words = named.split(",") if isinstance(named, str) else list(named)
        chosen = list(manifest.select_transports(words, dict(capabilities.manifests)))
        return list(dict.fromkeys([*chosen, *own])), {}
    possible = [name for name, each in capabilities.manifests.items() if each.ranked and each.installable]
    gone = {name: _remedy(name, capabilities) for name in possible if name not in ready}
    return list(dict.fromkeys([*(name for name in possible if name in ready), *own])), gone


def _is_built_by(state: manifest.Readiness) -> bool:
    """Return whether hopmeter can build this adapter without help from the user."""
    return state.get.startswith(COMMAND)


def _remedy(name: str, capabilities: Capabilities) -> str:
    return next(state.get for (transport, _), state in capabilities.ready.items() if transport == name)


def _check_now(now: str | None, prepared: Prepared) -> None:
    """Raise UsageError if the user's current transport cannot be measured."""
    own = [cell for cell in prepared.plan.cells if cell.axes.transport == now]
    if own and all(cell.dropped for cell in own):
        raise UsageError("E-ADVISE-NOW", f"--now {now} cannot be measured: {own[0].dropped}", "omit --now")


def _fit_budget(prepared: Prepared) -> Prepared:
    """Shorten the trials until enough rounds fit into the budget."""
    made = prepared.plan
    limit_s = made.scenario.budget_s or 0.0
    if budget.least_s(made) * MARGIN <= limit_s:
        return prepared
    for seconds in SHORTER_S:
        wanted = _with_duration(made.scenario, f"{seconds:g}s")
        shorter = plan.make(made.name, wanted, prepared.capabilities)
        if budget.least_s(shorter) < budget.least_s(made) and budget.least_s(shorter) * MARGIN <= limit_s:
            note = f"each trial is shortened to {seconds:g} s, so that enough rounds fit into {humanize_time(limit_s)}"
            return replace(_mark(prepared, shorter), notes=[*prepared.notes, note])
    return prepared


def _mark(prepared: Prepared, made: plan.Plan) -> Prepared:
    """Replace the plan of a prepared run, and record why adapters or codecs could not be built."""
    if not prepared.failures:
        return replace(prepared, plan=made)
    from hopmeter.api.building import mark

    return mark(prepared, made)


def _with_duration(wanted: scenario.Scenario, duration: str) -> scenario.Scenario:
    length = {"messages": None, "duration": duration, "warmup": None}
    cases = [case.model_copy(update=length) for case in wanted.case]
    return wanted.model_copy(update={**length, "case": cases})


def advise_from(folder: Path, now: str | None = None, require: str | Iterable[str] = ()) -> Advice:
    """Return advice from a stored run. Requirements that are given replace the requirements of the run.

    Raises UsageError if the run does not rank transports.
    """
    run = run_results.read(folder)
    if is_comparable(run) or not run.measured_rows or any(row.cell.comparison.search for row in run.rows):
        what = "compares two sides" if is_comparable(run) else "ranks no transports"
        raise UsageError(
            "E-ADVISE-RUN",
            f"{folder} {what}, so hopmeter cannot recommend a transport from this run",
            "hopmeter advise SCENARIO",
        )
    if wanted := parse_requirements(require):
        judge_run(run, [each.text for each in wanted])
    return Advice(RunAdvice(run, now))
