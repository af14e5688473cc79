"""The only error that codecs raise."""

from __future__ import annotations

import json

from hopmeter.errors import HopmeterError
from hopmeter.messages import tag

LONGEST_KEY = 40
LONGEST_PLACE = 200
SHOWN = (type(None), bool, int, float, bytes)
"""Types of keys that are shown with `repr`; for other types, `repr` may return any text."""

ENDING = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""Exceptions that no handler may catch. A panic in a Rust library is not an `Exception` either, but is caught."""


class CodecError(HopmeterError):
    """An object cannot be encoded, or frames cannot be decoded; the error describes the fault, and the remedy if known.

    Frames may be damaged or hostile; whatever they contain, `decode` raises no other error.
    """

    place = ""
    """The path to the faulty part of the object, such as `["stamp"][3]`; empty for the object itself."""

    def within(self, step: str) -> CodecError:
        """Prepend the step from a container to the faulty part, and return the error."""
        self.place = step + self.place
        return self

    @property
    def message(self) -> str:
        """The description of the fault with its place, and the code at the end."""
        return tag(self.code, f"{self.what}, at {shorten_place(self.place)}" if self.place else self.what)


def key_step(key: object) -> str:
    """Return the step to the value of a key: `["name"]`."""
    shown = repr(key) if type(key) in SHOWN else f"<{type(key).__qualname__}>"
    written = json.dumps(key) if type(key) is str else shown
    return f"[{written if len(written) <= LONGEST_KEY else written[:LONGEST_KEY] + '…'}]"


def shorten_place(place: str) -> str:
    """Return the path to a part as a Python expression that begins with `obj`; the middle of a long path is replaced
    with `…`."""
    half = LONGEST_PLACE // 2
    return f"obj{place}" if len(place) <= LONGEST_PLACE else f"obj{place[:half]}…{place[-half:]}"
