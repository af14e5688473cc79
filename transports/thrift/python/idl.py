"""The messages of ../idl/hopmeter.thrift, and the two halves of its calls.

Thrift's C extension reads and writes the messages from their field lists, as for code that the Thrift compiler
generates with the option `dynamic`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from thrift.protocol.TBase import TBase
from thrift.protocol.TProtocol import TProtocolBase
from thrift.Thrift import TApplicationException, TMessageType, TType

Fields = tuple[Any, ...]


def _fields(*fields: tuple[str, int, Any], first: int = 1) -> Fields:
    """Return a field list in the form that Thrift requires, in which a field's index is its number.

    Each entry contains the field's number, type, name, type arguments and default value.
    """
    listed = ((number, kind, name, more, None) for number, (name, kind, more) in enumerate(fields, first))
    return (*[None] * first, *listed)


@dataclass(slots=True, eq=False)
class Stamp(TBase):
    """A time on the sender's monotonic clock."""

    sec: int | None = None
    nanosec: int | None = None
    thrift_spec: ClassVar[Fields] = _fields(("sec", TType.I64, None), ("nanosec", TType.I32, None))


@dataclass(slots=True, eq=False)
class Timing(TBase):
    """The small message, whose field `padding` contains any payload."""

    id: int | None = None
    nanosec: int | None = None
    source: str | None = None
    padding: bytes | None = None
    thrift_spec: ClassVar[Fields] = _fields(
        ("id", TType.I64, None),
        ("nanosec", TType.I64, None),
        ("source", TType.STRING, "UTF8"),
        ("padding", TType.STRING, "BINARY"),
    )


@dataclass(slots=True, eq=False)
class Image(TBase):
    """An image from a camera."""

    stamp: Stamp | None = None
    frame_id: str | None = None
    height: int | None = None
    width: int | None = None
    encoding: str | None = None
    step: int | None = None
    data: bytes | None = None
    thrift_spec: ClassVar[Fields] = _fields(
        ("stamp", TType.STRUCT, [Stamp, Stamp.thrift_spec]),
        ("frame_id", TType.STRING, "UTF8"),
        ("height", TType.I32, None),
        ("width", TType.I32, None),
        ("encoding", TType.STRING, "UTF8"),
        ("step", TType.I32, None),
        ("data", TType.STRING, "BINARY"),
    )


@dataclass(slots=True, eq=False)
class Unanswered(TBase):
    """The exception with which a server reports that it did not answer a request."""

    thrift_spec: ClassVar[Fields] = ()


@dataclass(slots=True, eq=False)
class _Arguments(TBase):
    request: Timing | Image | None = None


@dataclass(slots=True, eq=False)
class _Result(TBase):
    success: Timing | Image | None = None
    unanswered: Unanswered | None = None


class TimingArguments(_Arguments):
    """The arguments of the method `timing`."""

    __slots__ = ()
    thrift_spec = _fields(("request", TType.STRUCT, [Timing, Timing.thrift_spec]))


class ImageArguments(_Arguments):
    """The arguments of the method `image`."""

    __slots__ = ()
    thrift_spec = _fields(("request", TType.STRUCT, [Image, Image.thrift_spec]))


UNANSWERED = ("unanswered", TType.STRUCT, [Unanswered, Unanswered.thrift_spec])


class TimingResult(_Result):
    """The result of the method `timing`."""

    __slots__ = ()
    thrift_spec = _fields(("success", TType.STRUCT, [Timing, Timing.thrift_spec]), UNANSWERED, first=0)


class ImageResult(_Result):
    """The result of the method `image`."""

    __slots__ = ()
    thrift_spec = _fields(("success", TType.STRUCT, [Image, Image.thrift_spec]), UNANSWERED, first=0)


METHODS: dict[str, tuple[type[_Arguments], type[_Result]]] = {
    "timing": (TimingArguments, TimingResult),
    "image": (ImageArguments, ImageResult),
}


class Caller:
    """The client's side of all calls of one method."""

    def __init__(self, protocol: TProtocolBase, method: str) -> None:
        self._protocol, self._method = protocol, method
        self._arguments, self._result = METHODS[method]

    def send(self, request: Timing | Image) -> None:
        _write(self._protocol, self._method, TMessageType.CALL, 0, self._arguments(request))

    def receive(self) -> Timing | Image | None:
        """Receive the reply to the oldest request. Return None if the server did not answer the request."""
        _, kind, _ = self._protocol.readMessageBegin()
        result = TApplicationException() if kind == TMessageType.EXCEPTION else self._result()
        result.read(self._protocol)
        self._protocol.readMessageEnd()
        if isinstance(result, TApplicationException):
            raise result
        if result.success is None and result.unanswered is None:
            raise TApplicationException(TApplicationException.MISSING_RESULT, "unknown result")
        return result.success


def answer(protocol: TProtocolBase, handler: Callable[[Timing | Image], Timing | Image | None]) -> None:
    """Read a request, call the handler and send its reply. If the handler returns None, send the exception
    `Unanswered`."""
    name, _, number = protocol.readMessageBegin()
    if name not in METHODS:
        protocol.skip(TType.STRUCT)
        protocol.readMessageEnd()
        unknown = TApplicationException(TApplicationException.UNKNOWN_METHOD, f"Unknown function {name}")
        _write(protocol, name, TMessageType.EXCEPTION, number, unknown)
        return
    make_arguments, make_result = METHODS[name]
    arguments = make_arguments()
    arguments.read(protocol)
    protocol.readMessageEnd()
    success = handler(arguments.request)
    _write(protocol, name, TMessageType.REPLY, number, make_result(success, Unanswered() if success is None else None))


def _write(protocol: TProtocolBase, method: str, kind: int, number: int, body: TBase | TApplicationException) -> None:
    protocol.writeMessageBegin(method, kind, number)
    body.write(protocol)
    protocol.writeMessageEnd()
    protocol.trans.flush()
