"""Find the reasons for dropped cells that a build would remove, and suggest one command that builds all missing
parts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from hopmeter.messages import split_code

BUILDABLE = ("D-NOT-BUILT", "D-NOT-READY", "D-MESSAGE-NOT-BUILT", "D-CODEC-MISSING", "D-HOST-LACKS")
"""The codes of reasons that a build may remove."""
COMMAND = "hopmeter build "
"""Matches the beginning of a remedy that is a build command."""
OPTION = "--build"
REMEDY = re.compile(
    rf"; (?:on \S+, )?run `{COMMAND}[^`]+`(?: with the same --hosts or --cluster)?| \(run `{COMMAND}[^`]+`[^)]*\)"
)
NOT_AGAIN = ("--dry-run", "--json")


def is_buildable(reason: str) -> bool:
    """Return whether a build may remove the reason why a cell was dropped."""
    return split_code(reason)[1] in BUILDABLE and f"`{COMMAND}" in reason


def without_remedy(reason: str) -> str:
    """Return the reason why a cell was dropped, without the build command that it suggests."""
    return REMEDY.sub("", reason) if is_buildable(reason) else reason


def building_command(command: Sequence[str], reasons: Iterable[str]) -> str:
    """Return the given command with the option `--build`, which first builds all parts that the cells need.

    Return an empty string if the command already has this option, or if a build would remove none of the reasons.
    """
    if not command or OPTION in command or not any(map(is_buildable, reasons)):
        return ""
    return shlex.join([*(word for word in command if word not in NOT_AGAIN), OPTION])
