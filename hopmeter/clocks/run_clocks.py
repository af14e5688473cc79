"""The clocks of all hosts of a run: selects one or two pair models that translate times between hosts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hopmeter.clocks.batches import Batch, ClockError
from hopmeter.clocks.clock_state import ClockState
from hopmeter.clocks.pair_model import PairModel, Times, Translation


@dataclass(frozen=True)
class Route:
    """The translation from one host to another: a single step, or two steps via a third host."""

    steps: tuple[Translation, ...]

    def apply(self, times: Times) -> Times:
        """Return the times on the clock of the other host."""
        for step in self.steps:
            times = step.apply(times)
        return times

    @property
    def uncertainty_ns(self) -> float:
        """The maximum error of a translated time, which is 0 within one host."""
        return sum(step.uncertainty_ns for step in self.steps)

    @property
    def residual_ns(self) -> float:
        """The maximum difference between the errors of two trials on the same hosts, which is 0 within one host."""
        return sum(step.residual_ns for step in self.steps)


Models = dict[frozenset[str], PairModel]
"""The pair models of one session, by their two hosts."""
HERE = Route(())
"""The route within one host, which leaves times unchanged."""


@dataclass(frozen=True)
class Closure:
    """The sum of three offsets around a triangle of hosts. The sum would be 0 if all offsets were exact. The sum is
    shown to the user, but is not used to narrow error bounds."""

    hosts: tuple[str, str, str]
    sum_ns: int
    bound_ns: float
    """The largest sum that the uncertainties of the three offsets allow."""


class RunClocks:
    """The clock models of a run."""

    def __init__(self, batches: Iterable[Batch], states: Iterable[ClockState] = ()) -> None:
        """Fit one model for each session and pair of hosts. `states` determine which hosts share a clock."""
        self._names = _clock_names(states)
        found: dict[tuple[str, str, str], list[Batch]] = {}
        for batch in batches:
            here, there = (self._name(batch.session, host) for host in (batch.asker, batch.responder))
            if here != there:
                found.setdefault((batch.session, here, there), []).append(batch)
        self.sessions: dict[str, Models] = {}
        for (session, here, there), each in found.items():
            self.sessions.setdefault(session, {}).setdefault(frozenset((here, there)), PairModel(here, there, each))

    def _name(self, session: str, host: str) -> str:
        """Return the name of the first host that shares its clock with this host."""
        return self._names.get(session, {}).get(host, host)

    def route(self, origin: str, target: str, begin_ns: int, end_ns: int) -> Route:
        """Return the route that translates times from `begin_ns` to `end_ns` on the host `origin` to the host `target`.

        If the two hosts were never compared, the route uses a third host that was compared with both. Raises ClockError
        if no comparison covers the time from `begin_ns` to `end_ns`, or if a clock was set or corrected in that time.
        """
        if origin == target:
            return HERE
        found: list[Route] = []
        failures: list[ClockError] = []
        for session in {*self.sessions, *self._names}:
            first, last = (self._name(session, host) for host in (origin, target))
            try:
                when = Stretch(first, begin_ns, end_ns)
                found.append(HERE if first == last else _route(self.sessions.get(session, {}), when, last))
            except ClockError as failure:
                failures.append(failure)
        if len({route.steps for route in found}) != 1:
            raise _explain(found, failures, origin, target)
        return found[0]

    def closures(self) -> list[Closure]:
        """Return, for each triangle of hosts, the sum of the three clock offsets at a time in the middle of the run."""
        return [
            closure
            for models in self.sessions.values()
            for three in _triangles(models)
            if (closure := _closure(models, three))
        ]


def _clock_names(states: Iterable[ClockState]) -> dict[str, dict[str, str]]:
    """Return, for each session and host, the name of the first host with the same clock."""
    first: dict[tuple[str, str], str] = {}
    names: dict[str, dict[str, str]] = {}
    for state in states:
        names.setdefault(state.session, {})[state.host] = first.setdefault((state.session, state.clock), state.host)
    return names


@dataclass(frozen=True)
class Stretch:
    """A period of time on the clock of a host."""

    host: str
    begin_ns: int
    end_ns: int

    def on(self, host: str, step: Translation) -> Stretch:
        """Return this period, translated to the clock of another host."""
        begin, end = step.apply(np.array([self.begin_ns, self.end_ns], np.int64))
        return Stretch(host, int(begin), int(end))


def _route(models: Models, when: Stretch, target: str) -> Route:
    if direct := models.get(frozenset((when.host, target))):
        return Route((direct.translation(when.host, when.begin_ns, when.end_ns),))
    found = [
        _route_over(first, second, when)
        for first in models.values()
        if when.host in first.hosts and (second := models.get(frozenset((first.other(when.host), target))))
    ]
    if not found:
        raise _unknown(when.host, target, "were not compared")
    return min(found, key=lambda route: route.uncertainty_ns)


def _route_over(first: PairModel, second: PairModel, when: Stretch) -> Route:
    step = first.translation(when.host, when.begin_ns, when.end_ns)
    then = when.on(first.other(when.host), step)
    return Route((step, second.translation(then.host, then.begin_ns, then.end_ns)))


def _triangles(models: Models) -> list[tuple[str, str, str]]:
    """Return all triples of hosts that were compared with each other."""
    others: dict[str, set[str]] = {}
    for one, other in (sorted(pair) for pair in models):
        others.setdefault(one, set()).add(other)
    return sorted(
        (one, two, three) for one, later in others.items() for two in later for three in later & others.get(two, set())
    )


def _unknown(origin: str, target: str, why: str) -> ClockError:
    return ClockError("E-CLOCK-UNKNOWN", f"the clocks of {origin} and {target} {why}", "measure the trial again")


def _explain(found: Sequence[Route], failures: Sequence[ClockError], origin: str, target: str) -> ClockError:
    """Return the error to raise if there is no unique route between two hosts. If a clock was set or corrected, the
    error reports that cause rather than a missing comparison."""
    if found:
        why = "were compared in two sessions of the run that cannot be told apart at this time"
        return _unknown(origin, target, why)
    moved = [each for each in failures if each.code == "E-CLOCK-STEP"]
    return (*moved, *failures, _unknown(origin, target, "were not compared"))[0]


def _closure(models: Models, hosts: tuple[str, str, str]) -> Closure | None:
    """Translate a time around a triangle of hosts, and return the difference between the result and the original time.
    Return None if two of the hosts were not compared at that time."""
    one, two, three = hosts
    first = models[frozenset((one, two))]
    if not first.intervals:
        return None
    start_ns, bound_ns = first.middle_ns(one), 0.0
    when = Stretch(one, start_ns, start_ns + 1)
    try:
        for target in (two, three, one):
            (step,) = _route(models, when, target).steps
            when, bound_ns = when.on(target, step), bound_ns + step.uncertainty_ns
    except (ClockError, ValueError):
        return None
    return Closure(hosts, when.begin_ns - start_ns, bound_ns)
