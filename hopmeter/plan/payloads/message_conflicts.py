"""Find schema messages that cannot be in the same program because their generated code defines the same name
differently."""

from __future__ import annotations

from collections.abc import Iterator

from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.model.workload import Flow
from hopmeter.plan.flows import flows
from hopmeter.plan.payloads.message_objects import ENDS
from hopmeter.plan.topology import topology
from hopmeter.schemas import Library, is_message, library_of, without_folders
from hopmeter.schemas.payload import KIND


def why_not_together(cell: Cell, flow: Flow) -> str:
    """Return why the code of a flow's message and the code of an earlier flow's message cannot be in the same program.

    Return an empty string if one program can contain the code of both messages.
    """
    return next(filter(None, (_clash(flow, other, language) for other, language in _companions(cell, flow))), "")


def _companions(cell: Cell, flow: Flow) -> Iterator[tuple[Flow, str]]:
    """Yield the earlier flows whose messages the flow's program also encodes or decodes, each with the program's
    language."""
    if cell.workload is None:
        return
    numbers = {each.number: each for each in flows(cell) if is_message(each.payload) and each.has_codec}
    for node in topology(cell).nodes:
        ours = {end.flow for end in node if end.role in ENDS and end.flow in numbers}
        if flow.number in ours:
            yield from ((numbers[one], node[0].language) for one in ours if one < flow.number)


def _clash(flow: Flow, other: Flow, language: str) -> str:
    one, two = _library(other, language), _library(flow, language)
    first, second = one.facts.get("exclusive", {}), two.facts.get("exclusive", {})
    name = next((name for name in first if name in second and first[name] != second[name]), "")
    if not name:
        return ""
    files = [text.rpartition(" ")[0] for text in (first[name], second[name])]
    is_renamed = files[0] != files[1]
    how = f"in {files[0]} and in {files[1]}" if is_renamed else f"in two versions of {files[0]}"
    messages = " and ".join(without_folders(each.payload).removeprefix(KIND) for each in (other, flow))
    remedy = ", or if this is one file, name the folder of its imports with --include" if is_renamed else ""
    what = f"one program in {language} cannot have both {messages}: {name} is defined {how}"
    return tag("D-MESSAGES-APART", f"{what}; give these flows different participants{remedy}")


def _library(flow: Flow, language: str) -> Library:
    return library_of(flow.payload, flow.codec, language)
