"""The one error that every codec raises."""

from __future__ import annotations

from hopmeter.errors import HopmeterError

ENDING = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""What has to go through wherever all else is caught: a panic of a library in Rust is no Exception either."""


class CodecError(HopmeterError):
    """An object that cannot be encoded, or frames that cannot be decoded: what is wrong, and the remedy if known.

    Frames come from elsewhere and may be damaged or hostile, so `decode` raises nothing else, whatever they hold.
    """
