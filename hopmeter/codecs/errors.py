"""The error that every codec raises."""

from __future__ import annotations

import json

from hopmeter.errors import HopmeterError
from hopmeter.messages import tag

LONGEST_KEY = 40
LONGEST_PLACE = 200
SHOWN = (type(None), bool, int, float, bytes)
"""Types of keys whose own text is shown; that of others may be anything."""

ENDING = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""Exceptions that every handler must pass on; a panic of a Rust library is also no `Exception`."""


class CodecError(HopmeterError):
    """An object cannot be encoded, or frames cannot be decoded: the error names the fault, and the remedy if known.

    Frames may be damaged or hostile; whatever they contain, `decode` raises no other error.
    """

    place = ""
    """Where in the object the fault is, such as `["stamp"][3]`; empty for the object itself."""

    def within(self, step: str) -> CodecError:
        """Add the step from a container to the part that contains the fault, and return the error."""
        self.place = step + self.place
        return self

    @property
    def message(self) -> str:
        """The failure and its place, with the code at the end."""
        return tag(self.code, f"{self.what}, at {shorten_place(self.place)}" if self.place else self.what)


def key_step(key: object) -> str:
    """Return the step to the value of a key: `["name"]`."""
    shown = repr(key) if type(key) in SHOWN else f"<{type(key).__qualname__}>"
    written = json.dumps(key) if type(key) is str else shown
    return f"[{written if len(written) <= LONGEST_KEY else written[:LONGEST_KEY] + '…'}]"


def shorten_place(place: str) -> str:
    """Return a place as an expression of Python that begins with `obj`; the middle of a long one is left out."""
    half = LONGEST_PLACE // 2
    return f"obj{place}" if len(place) <= LONGEST_PLACE else f"obj{place[:half]}…{place[-half:]}"
