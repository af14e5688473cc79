"""The error that every codec raises."""

from __future__ import annotations

from hopmeter.errors import HopmeterError

ENDING = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""Exceptions that every handler must pass on; a panic of a Rust library is also no `Exception`."""


class CodecError(HopmeterError):
    """An object cannot be encoded, or frames cannot be decoded: the error names the fault, and the remedy if known.

    Frames may be damaged or hostile; whatever they contain, `decode` raises no other error.
    """
