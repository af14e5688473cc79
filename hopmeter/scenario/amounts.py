"""Amounts as scenarios write them: `30s`, `500us`, `image:1440x1080`, `copy:1000`."""

from __future__ import annotations

import re

UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000}


def seconds(text: str) -> float:
    """A duration; `ValueError` says how one is written."""
    return nanoseconds(text) / 1e9


def nanoseconds(text: str) -> int:
    """A duration; `ValueError` says how one is written."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m)", text)
    if not found:
        raise ValueError(f'"{text}" is no duration; write a number and ns, us, ms, s or m, such as 30s')
    return round(float(found[1]) * UNITS_NS[found[2]])


def payload_bytes(text: str) -> int:
    """What a payload weighs beside the 64-byte header, which alone is the `timing` message."""
    if text == "timing":
        return 0
    if found := re.fullmatch(r"bytes:(\d+)", text):
        return int(found[1])
    if found := re.fullmatch(r"image:(\d+)x(\d+)", text):
        return int(found[1]) * int(found[2]) * 3
    raise ValueError(f'"{text}" is no payload; write timing, bytes:N or image:WIDTHxHEIGHT (rgb8), such as bytes:1000')


def payload(text: str) -> dict[str, str | int]:
    """What a payload stands for, as the spec file holds it; `ValueError` says how one is written."""
    payload_bytes(text)
    kind, _, size = text.partition(":")
    if kind != "image":
        return {"kind": kind}
    width, height = size.split("x")
    return {"kind": kind, "width": int(width), "height": int(height)}


def work(text: str) -> dict[str, str | int]:
    """What a relay or server does per message, as the spec file holds it."""
    kind, _, amount = text.partition(":")
    if text == "none":
        return {"kind": "none"}
    if kind in ("sleep", "spin"):
        return {"kind": kind, "ns": nanoseconds(amount)}
    if kind == "copy" and amount.isdecimal():
        return {"kind": "copy", "bytes": int(amount)}
    raise ValueError(f'"{text}" is no work; write none, sleep:TIME, spin:TIME or copy:BYTES, such as sleep:1ms')
