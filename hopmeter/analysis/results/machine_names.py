"""Identify the machine that measured a run, and give several machines unique names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hopmeter.analysis.results.run_results import Run


IDENTITY = ("cpu_model", "cores", "distribution", "kernel", "container", "virtualisation")
"""Runs with equal values in all these fields count as runs of one machine."""
WORDS = {"cores": "{} cores", "kernel": "kernel {}", "container": "container: {}", "virtualisation": "virtual: {}"}
LASTING = tuple(key for key in IDENTITY if key not in ("distribution", "kernel"))
"""The fields that identify a machine even after a system upgrade."""
Host = tuple[str, ...]


def host(run: Run) -> Host:
    """Return the fields that identify the machine of a run, with `unknown` for unrecorded fields."""
    return _fields(run, IDENTITY)


def _fields(run: Run, keys: Sequence[str]) -> Host:
    known = run.part("machine")
    return tuple(str(known.get(key) or "unknown") for key in keys)


def machines(runs: Sequence[Run]) -> dict[int, str]:
    """Return the name of each run's machine, keyed by the run's `id()`. A machine keeps its name after a system
    upgrade."""
    lasting = {id(run): _fields(run, LASTING) for run in runs}
    found = list(dict.fromkeys(lasting.values()))
    named = _short_names(found, LASTING)
    return {key: named[each] for key, each in lasting.items()}


def hosts(runs: Sequence[Run]) -> dict[Host, list[Run]]:
    """Return the runs of each machine. The machines are in order of first appearance."""
    found: dict[Host, list[Run]] = {}
    for run in runs:
        found.setdefault(host(run), []).append(run)
    return found


def names(runs: Sequence[Run]) -> dict[int, str]:
    """Return the shortest unique name of each run's machine, keyed by the run's `id()`. Return an empty dict if all
    runs are from one machine."""
    found = list(hosts(runs))
    if len(found) < 2:
        return {}
    short = _short_names(found, IDENTITY)
    return {id(run): short[host(run)] for run in runs}


def _short_names(found: Sequence[Host], keys: Sequence[str]) -> dict[Host, str]:
    short = {each: _name(each, keys, []) for each in found}
    if len(set(short.values())) == len(found):
        return short
    differing = [place for place in range(1, len(keys)) if len({each[place] for each in found}) > 1]
    return {each: _name(each, keys, differing) for each in found}


def _name(one: Host, keys: Sequence[str], differing: Sequence[int]) -> str:
    words = [WORDS.get(keys[place], "{}").format(one[place]) for place in differing]
    model = "unknown processor" if one[0] == "unknown" else one[0]
    return model + (f" ({', '.join(filter(None, dict.fromkeys(words)))})" if words else "")
