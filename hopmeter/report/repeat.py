"""How to do it again: the exact command, and where a scenario was changed by hand, what was changed."""

from __future__ import annotations

import shlex

from hopmeter.report.source import Run


def command(run: Run) -> str:
    """The command of the run with its seed, so that the order of trials is the same too."""
    given = run.about.get("command")
    said = [str(word) for word in given] if isinstance(given, list) else ["hopmeter", "run", run.text("scenario_name")]
    seed = ["--seed", run.text("seed")] if run.text("seed") and not _has(said, "--seed") else []
    return shlex.join([*_without_out(said), *seed])


def _has(said: list[str], option: str) -> bool:
    return any(word == option or word.startswith(f"{option}=") for word in said)


def _without_out(said: list[str]) -> list[str]:
    """The folder of the first time is taken."""
    before = ["", *said]
    return [word for word, previous in zip(said, before, strict=False) if "--out" not in (word.split("=")[0], previous)]
