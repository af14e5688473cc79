"""Determine the native types with which transports carry schema messages and recorded messages."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.manifest import Manifest, Offer, find_transports
from hopmeter.manifest.type_code import Form, code_of, needs_code, prefixes
from hopmeter.messages import tag, with_remedy
from hopmeter.model.cell import Cell
from hopmeter.model.workload import MESSAGE, NO_CODEC, Carrier, Flow, Replay
from hopmeter.plan.carriers import carrier_of
from hopmeter.plan.flows import flows
from hopmeter.plan.payloads.message_objects import encoded_file
from hopmeter.plan.topology import Endpoint, topology
from hopmeter.schemas import is_message
from hopmeter.schemas.ros2.types import RosType, payload_type, read_installed, split_definitions

CDR, TEXT = "cdr", "ros2msg"
"""The encoding of ROS 2 messages in a recording, and the format of their definitions."""


@dataclass(frozen=True)
class OwnType:
    """The native message type with which a transport carries a flow's messages."""

    wanted: RosType
    form: Form
    manifest: Manifest
    languages: tuple[str, ...]
    """The languages of the nodes that send, forward or receive the messages."""
    carrier: Carrier

    @property
    def offers(self) -> list[Offer]:
        """Return what the transport supports in each language of the flow's nodes."""
        return [self.manifest.offers[language] for language in self.languages]

    @property
    def unbuilt(self) -> list[Offer]:
        """Return the offers of those languages for which the code of the type is not built.

        Raises UsageError if the definition of the type is missing.
        """
        return [each for each in self.offers if needs_code(each, self.wanted, self.form) and not self._facts(each)]

    def _facts(self, offer: Offer) -> Mapping[str, Any]:
        return code_of(self.manifest, offer, self.wanted).facts

    def code(self, language: str) -> str:
        """Return the directory of the type's code in a language, or an empty string if the code has not been built."""
        found = code_of(self.manifest, self.manifest.offers[language], self.wanted)
        return str(found.folder) if found.facts else ""


def own_type(cell: Cell, flow: Flow, known: Mapping[str, Manifest] | None = None) -> OwnType | None:
    """Return the native type with which a flow's transport carries its messages, or None if the transport carries them
    as bytes.

    Raises UsageError if the definition of the native type is missing.
    """
    carrier = carrier_of(cell, flow)
    if flow.bridged or not (is_message(flow.payload) or flow.replay) or not carrier.own_types:
        return None
    manifest = (known or _manifests(carrier.transport))[carrier.transport].for_settings(carrier.settings)
    languages = _languages(cell, flow)
    offers = [manifest.offers.get(language) for language in languages]
    if not all(offer is not None and offer.types is not None for offer in offers):
        return None
    form = _form(flow)
    if form is None:
        return None
    wanted = _wanted_type(flow, prefixes(manifest.offers[languages[0]]))
    return OwnType(wanted, form, manifest, languages, carrier) if wanted else None


def _wanted_type(flow: Flow, places: Sequence[Path]) -> RosType | None:
    """Return the type of the messages of a flow, or None if the flow replays a recording without ROS 2 messages.

    Raises UsageError if the definition of the type is missing, or if the type is a service type but the flow makes no
    calls.
    """
    if flow.replay:
        return recorded_type(flow.replay, places)
    wanted = payload_type(flow.payload)
    if wanted.is_service and not flow.is_call:
        what = f"{wanted.name} is a service: programs can call it, but cannot publish it"
        raise UsageError("E-SCHEMA", what, "use --pattern rpc, or a call in a workload, or choose a message")
    return wanted


def _form(flow: Flow) -> Form | None:
    """Return in which form a flow sends its native messages: as calls, as messages or as encoded octets.

    Return None if no form is possible, for example for calls with encoded messages.
    """
    if is_message(flow.payload) and flow.codec == NO_CODEC:
        return "call" if flow.is_call else "message"
    return "octets" if not flow.is_call and flow.codec in (NO_CODEC, CDR) else None


def recorded_type(replay: Replay, prefixes_: Sequence[Path]) -> RosType | None:
    """Return the type of recorded messages, or None if the recording has no ROS 2 messages.

    Raises UsageError if the definition of the recorded type is missing.
    """
    if replay.encoding != CDR or not replay.type:
        return None
    if replay.definition is not None:
        return split_definitions(replay.type, replay.definition)
    return read_installed(replay.type, prefixes_)


@functools.cache
def _manifests(transport: str) -> Mapping[str, Manifest]:
    return find_transports([transport])


def _ends(cell: Cell, flow: Flow) -> list[Endpoint]:
    return [end for node in topology(cell).nodes for end in node if end.flow == flow.number]


def _languages(cell: Cell, flow: Flow) -> tuple[str, ...]:
    return tuple(dict.fromkeys(end.language for end in _ends(cell, flow)))


def why_no_type(cell: Cell, flow: Flow, known: Mapping[str, Manifest]) -> str:
    """Return why the transport of a flow cannot carry a schema message as a native type, or an empty string if it can.

    Return an empty string if the transport carries the message as bytes.
    """
    try:
        found = own_type(cell, flow, known)
        unbuilt = found.unbuilt if found else []
    except UsageError as cause:
        return tag("D-SCHEMA", with_remedy(f"{carrier_of(cell, flow).name}: {cause.what}", cause.remedy))
    if found is None:
        return "" if flow.has_codec else _no_types(cell, flow)
    if any(end.host for end in _ends(cell, flow)):
        return tag("D-PAYLOAD", f"{carrier_of(cell, flow).name} carries messages as their own type on one machine only")
    if not unbuilt:
        return ""
    said = f"the code of {found.wanted.name} is not built for {found.manifest.name} ({unbuilt[0].language})"
    return tag("D-MESSAGE-NOT-BUILT", f"{said}; run {_build_command(found, flow)}")


def _no_types(cell: Cell, flow: Flow) -> str:
    carrier, languages = carrier_of(cell, flow).name, " and ".join(_languages(cell, flow))
    return tag("D-PAYLOAD", f"{carrier} has no messages of the user's own type in {languages}; use --codec {CDR}")


def _build_command(found: OwnType, flow: Flow) -> str:
    message, options = shlex.quote(flow.payload.removeprefix(MESSAGE)), found.manifest.reference.split(" ")[1:]
    words = ["hopmeter build --message", message, "--codec none --language", ",".join(found.languages), *options]
    return f"`{' '.join(words)}`"


def describe_type(cell: Cell, flow: Flow, language: str) -> dict[str, Any]:
    """Describe the type of a flow's messages for the spec of a node, or return an empty dict if the transport carries
    bytes."""
    found = usable_type(cell, flow)
    if found is None:
        return {}
    message = {"name": found.wanted.name, "code": found.code(language)}
    return {"message": message | ({} if found.form == "octets" else {"object": str(encoded_file(flow))})}


def usable_type(cell: Cell, flow: Flow, known: Mapping[str, Manifest] | None = None) -> OwnType | None:
    """Return the native type with which a flow's transport carries its messages.

    Return None if code for the type is missing in some language, or if the transport carries the messages as bytes.
    """
    try:
        found = own_type(cell, flow, known)
        return None if found is None or found.unbuilt or any(end.host for end in _ends(cell, flow)) else found
    except UsageError:
        return None


def type_notes(cells: Iterable[Cell], known: Mapping[str, Manifest]) -> list[str]:
    """Return notes that explain why recorded messages are carried as bytes by a transport that supports native
    types."""
    return list(dict.fromkeys(note for cell, flow in _replays(cells) if (note := _note(cell, flow, known))))


def _replays(cells: Iterable[Cell]) -> Iterator[tuple[Cell, Flow]]:
    for cell in (each for each in cells if each.workload and not each.dropped):
        yield from ((cell, flow) for flow in flows(cell) if flow.replay and carrier_of(cell, flow).own_types)


def _note(cell: Cell, flow: Flow, known: Mapping[str, Manifest]) -> str:
    why = _why_bytes(cell, flow, known)
    name = carrier_of(cell, flow).name
    return f"flow {flow.name}: {name} carries its messages as bytes, not as their own type: {why}" if why else ""


def _why_bytes(cell: Cell, flow: Flow, known: Mapping[str, Manifest]) -> str:
    assert flow.replay is not None, "the flow replays a recording"
    if flow.replay.encoding != CDR or not flow.replay.type:
        return f"the recording has them as {flow.replay.encoding or 'messages without a type'}, not as those of ROS 2"
    try:
        found = own_type(cell, flow, known)
        unbuilt = found.unbuilt if found else []
    except UsageError as cause:
        return with_remedy(cause.what, cause.remedy)
    if found is None or any(end.host for end in _ends(cell, flow)):
        return "own types need topics, node languages that support them, and a single machine"
    missing = ", ".join(each.language for each in unbuilt)
    return (
        f"the code of {found.wanted.name} is not built ({missing}); run the same command with --build"
        if missing
        else ""
    )


def missing_types(cell: Cell, known: Mapping[str, Manifest]) -> Iterator[tuple[OwnType, Offer]]:
    """Yield each message type of a cell whose code is not built for a language, with the transport's offer for that
    language."""
    for flow in flows(cell):
        try:
            if found := own_type(cell, flow, known):
                yield from [(found, offer) for offer in found.unbuilt]
        except UsageError:
            continue  # another check reports the reason, with the cell or in a note
