"""Estimates the time and the download size of a build in advance."""

from __future__ import annotations

from collections.abc import Sequence

from hopmeter.build.messages import MessageTarget
from hopmeter.build.targets import Target
from hopmeter.manifest.tables.language_part import LONG_BUILD_S
from hopmeter.system import humanize


def format_costs(targets: Sequence[Target]) -> str:
    """Describe the time and the download size of all builds together, and name the targets that take long to build.

    Returns an empty string if no manifest states a build cost.
    """
    known = [(target.title, target.offer.build_cost) for target in targets if target.offer.build_cost]
    if not known:
        return ""
    seconds, megabytes = (sum(getattr(cost, each) for _, cost in known) for each in ("seconds", "megabytes"))
    long = [f"{title} {humanize.time(cost.seconds)}" for title, cost in known if cost.seconds > LONG_BUILD_S]
    download = f", {humanize.size(megabytes)} to download" if megabytes >= 1 else ""
    of_it = f", including {', '.join(long)}" if long and len(targets) > 1 else ""
    most = f"a first build takes up to {humanize.time(seconds)}{download}{of_it}"
    return f"{most}; the very first build on a machine takes another minute"


MESSAGE_SECONDS = {"rust": 30, "c++": 5, "python": 1}
"""The approximate build time of one message's codec library in seconds, by language."""


def format_message_costs(targets: Sequence[MessageTarget]) -> str:
    """Describe how long the codec libraries of the given messages take to build."""
    return f"this takes up to {humanize.time(sum(MESSAGE_SECONDS[target.language] for target in targets))}"
