"""Typed carriage: how a header travels in the fields of a real message, which has a number, a time and a text.

`label(header)` is what of it goes into the text, `seq_of(header)` the number, `sent_of(header)` the time (ns);
`header_of(label, sent_ns, payload_bytes)` is the header again. All in the instrument, one implementation for every
language; docs/adding-a-transport.md says which field takes what.
"""

from __future__ import annotations

from hopmeter._instrument import header_of, label, sent_of, seq_of

__all__ = ["header_of", "label", "sent_of", "seq_of"]
