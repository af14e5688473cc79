"""Defines the allowed words of several manifest keys."""

from __future__ import annotations

from typing import Literal

Language = Literal["rust", "c++", "python"]
Wait = Literal["spin", "block", "callback"]
EventLoop = Literal["asyncio"]
AskedWait = Literal["spin", "block", "callback", "asyncio"]
"""What a user may ask for: a wait, or `callback` by the event loop with this name."""
Placement = Literal["thread", "process"]
Pattern = Literal["pubsub", "rpc"]
Value = bool | int | float | str

LANGUAGES: tuple[Language, ...] = ("rust", "c++", "python")
