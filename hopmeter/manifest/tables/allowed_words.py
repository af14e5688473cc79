"""Defines the allowed words of several manifest keys."""

from __future__ import annotations

from typing import Literal

Language = Literal["rust", "c++", "python"]
Wait = Literal["spin", "block", "callback"]
Placement = Literal["thread", "process"]
Pattern = Literal["pubsub", "rpc"]
Value = bool | int | float | str

LANGUAGES: tuple[Language, ...] = ("rust", "c++", "python")
