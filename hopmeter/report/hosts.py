"""Which machine a run is of, and what tells several apart."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.report import formatting
from hopmeter.report.source import Run

IDENTITY = ("cpu_model", "cores", "distribution", "kernel", "container", "virtualisation")
"""Runs that agree in all of these are of one machine, as far as a comparison is concerned."""
SAID = {"cores": "{} cores", "kernel": "kernel {}", "container": "container: {}", "virtualisation": "virtual: {}"}
Host = tuple[str, ...]


def host(run: Run) -> Host:
    """The machine of a run, field by field; `unknown` where it was not seen."""
    known = run.part("machine")
    return tuple(str(known.get(key) or "unknown") for key in IDENTITY)


def hosts(runs: Sequence[Run]) -> dict[Host, list[Run]]:
    """Runs by their machine, in the order in which they were given."""
    found: dict[Host, list[Run]] = {}
    for run in runs:
        found.setdefault(host(run), []).append(run)
    return found


def names(runs: Sequence[Run]) -> dict[int, str]:
    """By `id` of the run the shortest name of its machine that no other has; empty for a single machine."""
    found = list(hosts(runs))
    if len(found) < 2:
        return {}
    telling = [place for place in range(1, len(IDENTITY)) if len({each[place] for each in found}) > 1]
    short = {each: _name(each, []) for each in found}
    if len(set(short.values())) < len(found):
        short = {each: _name(each, telling) for each in found}
    return {id(run): short[host(run)] for run in runs}


def _name(one: Host, telling: Sequence[int]) -> str:
    said = [SAID.get(IDENTITY[place], "{}").format(one[place]) for place in telling]
    model = "unknown processor" if one[0] == "unknown" else one[0]
    return model + (f" ({', '.join(formatting.distinct(said))})" if said else "")
