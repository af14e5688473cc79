"""The conditions of a group in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hopmeter.analysis.results.groups import CONDITIONS, USUAL, Group
from hopmeter.model.cell import OF_WORKLOAD
from hopmeter.model.cell_parts import HEADER_BYTES
from hopmeter.model.condition_values import DECLARED
from hopmeter.model.payload_words import ARRAY, describe_payload, name_payload
from hopmeter.report.words import formatting, host_words, workload_words
from hopmeter.report.words.pace_words import describe_pace

if TYPE_CHECKING:
    from hopmeter.analysis.results.run_results import Row

IDLE = "no_idle_states"
IDLE_WORDS = {False: "with idle cores as they are", True: "with idle cores kept awake"}
UNUSUAL = {IDLE: "idle cores as they are"}
"""Words for the default value of a condition, shown if other groups of the report have a different value."""
COUNTS = tuple(each.name for each in DECLARED.values() if each.noun)
"""Conditions that the title shows as a count, such as `20 relays`."""
RATES = tuple(each.name for each in DECLARED.values() if each.unit == "hz")
"""Conditions that the description of the pace already contains."""
IN_TITLE = {each.name for each in DECLARED.values() if each.leads_title} | {"payload_bytes", *OF_WORKLOAD}
OF_FLOWS = {"pattern", *(each.name for each in DECLARED.values() if each.scope == "flow")}
"""Conditions that belong to the flows of a workload, not to the workload as a whole."""


def title(group: Group) -> str:
    """Return a title that distinguishes a group from all other groups, such as `64 B at 1 000 Hz, 20 relays`."""
    if named := workload_words.title(group):
        return ", ".join(filter(None, [named, group.machine]))
    payload = _payload(group.conditions["payload"], group.conditions, "payload" in group.varied)
    first = f"{payload} {describe_pace(group.conditions)}"
    return ", ".join([first, *variations(group), *filter(None, [group.machine])])


def variations(group: Group) -> list[str]:
    """Return the conditions in which a group differs from other groups with the same payload, pace and machine."""
    words = _words(group.conditions)
    counts = formatting.distinct(words[key] for key in COUNTS)
    varied = [words[key] or UNUSUAL.get(key, "") for key in group.varied if key not in IN_TITLE]
    return [*counts, *formatting.distinct(varied)]


def subject(group: Group) -> str:
    """Describe a group as the subject of a sentence, such as `a 64-byte message at 1,000 Hz, 20 relays`."""
    if named := workload_words.title(group):
        return named.partition(":")[0]
    words, payload = _words(group.conditions), str(group.conditions["payload"])
    size = group.conditions["payload_bytes"] or 0
    array = _array(group.conditions)
    named = describe_payload(payload, with_folder="payload" in group.varied, array=array)
    if payload == "timing":
        named = f"a {HEADER_BYTES + size}-byte message"
    if group.conditions["pattern"] != "pubsub":
        named = f"a call with {named}"
    counts = formatting.distinct(words[key] for key in COUNTS)
    left_out = {*IN_TITLE, IDLE, *(["codec"] if array in named and array != ARRAY else [])}
    varied = formatting.distinct(words[key] for key in group.varied if key not in left_out)
    idle = [IDLE_WORDS[bool(group.conditions[IDLE])]] if IDLE in group.varied else []
    return ", ".join(
        [f"{named} {describe_pace(group.conditions)}", *counts, *varied, *idle, *filter(None, [group.machine])]
    )


def chips(group: Group) -> list[str]:
    """Return labels of one or two words for the conditions that the title omits."""
    words, left_out = _words(group.conditions), IN_TITLE | set(group.varied)
    words["hosts"] = words["hosts"] and host_words.name_hosts(str(group.conditions["hosts"]))
    if workload_words.title(group):
        left_out = IN_TITLE | OF_FLOWS
    return formatting.distinct(words[key] for key in CONDITIONS if key not in left_out)


def describe(group: Group, *except_for: str) -> str:
    """Return all conditions in words, except those listed in `except_for`."""
    left_out = {*except_for, "payload_bytes", "pace", *RATES}
    if "payload_bytes" in except_for:
        left_out.add("payload")
    has_pace = "rate_hz" not in except_for and not _is_caused(group)
    pace = [describe_pace(group.conditions)] if has_pace else []
    words = _words(group.conditions)
    return ", ".join(
        formatting.distinct([*(words[key] for key in CONDITIONS if key not in left_out), *pace, group.machine])
    )


def _is_caused(group: Group) -> bool:
    """Return whether the group is a flow whose messages are triggered by the messages of another flow. A triggered flow
    has no rate of its own."""
    return bool(group.conditions.get("flow")) and group.conditions["rate_hz"] is None


def _words(conditions: Mapping[str, Any]) -> dict[str, str]:
    """Return each condition in words, or an empty string for a condition with its default value."""
    return {key: _word(key, conditions) for key in CONDITIONS}


def _word(key: str, conditions: Mapping[str, Any]) -> str:
    value = conditions[key]
    if value is None or USUAL.get(key) == value:
        return ""
    if word := WORDS.get(key):
        return word(value, conditions)
    return DECLARED[key].title_words(value) if key in DECLARED else f"{key} {value}"


def _payload(value: Any, conditions: Mapping[str, Any], with_folder: bool = False) -> str:
    size = formatting.payload_bytes(conditions["payload_bytes"] or 0)
    named = name_payload(str(value or ""), with_folder)
    return ", ".join(formatting.distinct([named, size if conditions["payload_bytes"] or not named else ""]))


def _array(conditions: Mapping[str, Any]) -> str:
    """Return the usual name of an array in the group's codec, such as `a NumPy array`."""
    if conditions["codec"] in (None, "none"):
        return ARRAY
    from hopmeter.node.payloads.forms import forms  # this module imports NumPy, which few tables need

    form = forms().get(str(conditions["codec"]))
    return form.noun if form else ARRAY


def payload_name(row: Row) -> str:
    """Return the payload of a row in words, with its size."""
    return _payload(row["payload"], {"payload_bytes": row["payload_bytes"]})


WORDS: dict[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "payload": _payload,
    "sinks": lambda value, others: formatting.plural(value, "server" if others["pattern"] == "scatter" else "sink"),
    "graph": lambda *_: "",
    "fifo": lambda value, _: f"SCHED_FIFO {value}",
    "mlock": lambda *_: "memory locked",
    "no_idle_states": lambda *_: "idle cores kept awake",
    "background": lambda value, _: f"background load of {value}",
    "hosts": lambda value, _: host_words.describe_placement(str(value)),
}
