"""Which machine measured a run, and how to name several machines."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.analysis.run_results import Run

IDENTITY = ("cpu_model", "cores", "distribution", "kernel", "container", "virtualisation")
"""Runs that agree in all of these come from one machine."""
WORDS = {"cores": "{} cores", "kernel": "kernel {}", "container": "container: {}", "virtualisation": "virtual: {}"}
Host = tuple[str, ...]


def host(run: Run) -> Host:
    """Return the machine of a run, field by field; `unknown` if it was not recorded."""
    known = run.part("machine")
    return tuple(str(known.get(key) or "unknown") for key in IDENTITY)


def hosts(runs: Sequence[Run]) -> dict[Host, list[Run]]:
    """Return runs by their machine, in the order in which they were given."""
    found: dict[Host, list[Run]] = {}
    for run in runs:
        found.setdefault(host(run), []).append(run)
    return found


def names(runs: Sequence[Run]) -> dict[int, str]:
    """Return the shortest unique name of each run's machine, by `id` of the run; empty for a single machine."""
    found = list(hosts(runs))
    if len(found) < 2:
        return {}
    differing = [place for place in range(1, len(IDENTITY)) if len({each[place] for each in found}) > 1]
    short = {each: _name(each, []) for each in found}
    if len(set(short.values())) < len(found):
        short = {each: _name(each, differing) for each in found}
    return {id(run): short[host(run)] for run in runs}


def _name(one: Host, differing: Sequence[int]) -> str:
    words = [WORDS.get(IDENTITY[place], "{}").format(one[place]) for place in differing]
    model = "unknown processor" if one[0] == "unknown" else one[0]
    return model + (f" ({', '.join(filter(None, dict.fromkeys(words)))})" if words else "")
