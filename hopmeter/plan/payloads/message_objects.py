"""Compute the encoded size of schema messages, and explain why a cell cannot carry a schema message."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hopmeter.errors import UsageError
from hopmeter.messages import tag
from hopmeter.model.cell import Cell
from hopmeter.model.workload import NO_CODEC, Flow
from hopmeter.schemas import CODECS, is_message, library_of, missing_tools, without_folders
from hopmeter.schemas.compilers import has_compiler
from hopmeter.schemas.library import languages
from hopmeter.schemas.payload import KIND

OBJECT_CODEC, OBJECT_LANGUAGE = "cdr", "python"
"""The codec library for messages that a transport converts from encoded bytes to its own objects."""
ENDS = ("source", "sink", "follower", "client")
"""The roles that encode or decode messages. Relays and servers pass on the bytes without decoding them."""


def object_languages(codec: str, payload: str) -> Sequence[str]:
    """Return the languages in which a codec can encode and decode a payload."""
    return languages(codec) if is_message(payload) else ["python"]


def why_no_message(cell: Cell, ends: tuple[str, str]) -> str:
    """Return why a cell's codec, device and languages cannot carry its message, or an empty string if they can."""
    codec, payload = cell.axes.codec, cell.axes.payload
    if codec == NO_CODEC and cell.carriage.own_types:
        return _why_no_replies(cell)
    if codec not in CODECS:
        return tag("D-PAYLOAD", f"{payload} is a message of a schema; choose a codec: {' or '.join(CODECS)}")
    if cell.axes.place != ("cpu",):
        return tag("D-DEVICE", f"a message of {codec} is on the CPU; omit device and share")
    other = next((language for language in ends if language not in languages(codec)), "")
    if other:
        carried = ", ".join(languages(codec)) or "no language"
        return tag("D-CODEC-LANGUAGE", f"codec {codec} carries messages of a schema in {carried}, not in {other}")
    try:
        library_of(payload, codec, ends[0])
    except UsageError as cause:
        if not has_compiler(codec):
            return _no_compiler(codec, payload, ends[0])
        return tag("D-SCHEMA", f"{cause.what}; {cause.remedy}" if cause.remedy else cause.what)
    return ""


def _why_no_replies(cell: Cell) -> str:
    """Return why the replies to calls cannot be messages of the type that the payload names.

    Return an empty string if replies can be messages of this type, or if replies have no payload.
    """
    if cell.axes.pattern == "pubsub" or cell.nodes.reply == "echo":
        return ""
    said = f'{cell.axes.transport} replies with whole messages of a type; use reply = "echo", or a codec'
    return tag("D-PAYLOAD", said)


def message_languages(cell: Cell, flow: Flow) -> list[str]:
    """Return the languages that encode or decode a flow's messages, starting with the encoding language.

    The language of a server is omitted, because servers return the bytes that they received. If the transport itself
    encodes messages, the only language is Python, because hopmeter encodes one message in Python beforehand.
    """
    if not flow.has_codec:
        return [OBJECT_LANGUAGE]
    if cell.workload is not None:
        ends = [flow.source] if flow.is_call else [flow.source, *flow.targets]
        named = [cell.workload.participant(name).language for name in ends]
    else:
        words = cell.axes.language.split(">")
        named = words[:1] if flow.is_call or cell.axes.is_ring else [words[0], words[-1]]
    return list(dict.fromkeys(named))


def why_not_built(flow: Flow, ends: Sequence[str]) -> str:
    """Return why a message cannot be encoded and decoded in the given languages, or an empty string if it can."""
    return next(filter(None, (_why_not_built(flow, language) for language in ends)), "")


def _why_not_built(flow: Flow, language: str) -> str:
    codec, payload = codec_of(flow), flow.payload
    if library_of(payload, codec, language).facts:
        return ""
    if missing_tools(codec, language):
        return _no_compiler(codec, payload, language)
    said = f"the code of {codec} for {without_folders(payload)} is not built for {language}"
    return tag("D-MESSAGE-NOT-BUILT", f"{said}; run {_build_command(codec, payload, language)}")


def _build_command(codec: str, payload: str, language: str) -> str:
    message = shlex.quote(payload.removeprefix(KIND))
    return f"`hopmeter build --message {message} --codec {codec} --language {language}`"


def _no_compiler(codec: str, payload: str, language: str) -> str:
    missing = missing_tools(codec, language)
    said = f"{', '.join(missing)} is not installed for codec {codec}; run `sudo apt-get install {' '.join(missing)}`"
    return tag("D-NO-COMPILER", f"{said}, then {_build_command(codec, payload, language)}")


def message_bytes(flow: Flow, language: str) -> int:
    """Return the size of a flow's encoded message. The size depends on the language that encodes the message."""
    if flow.has_codec:
        return int(library_of(flow.payload, flow.codec, language).facts["bytes"])
    return encoded_file(flow).stat().st_size


def encoded_file(flow: Flow) -> Path:
    """Return the file that contains a flow's encoded message.

    Only transports that encode messages themselves use the file.
    """
    return library_of(flow.payload, OBJECT_CODEC, OBJECT_LANGUAGE).object


def codec_of(flow: Flow) -> str:
    """Return the codec that encodes a flow's message.

    If the transport itself encodes messages, return the codec with which hopmeter encodes the message that it stores
    for the transport.
    """
    return flow.codec if flow.has_codec else OBJECT_CODEC


def describe_message(flow: Flow, language: str) -> dict[str, Any]:
    """Describe the message of a flow for the spec of a node that encodes or decodes the message."""
    library = library_of(flow.payload, flow.codec, language)
    if language == "python":
        return {"codec": flow.codec, "device": flow.device, "object": f"{KIND}{library.folder}"}
    return {"codec": flow.codec, "library": str(library.path), "object": str(library.object)}
