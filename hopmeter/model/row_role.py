"""What a row is in its table, as a value; tables and sentences have the words."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a row is in its table."""

    CHOICE = "choice"
    """A transport that you can install: it is ranked, and an answer may recommend it."""
    FLOOR = "floor"
    """The least time that other rows are compared with; no library to install, or not ranked."""
    REFERENCE = "reference"
    """No library to install; ranked only if its table has no choice."""
    UNRANKED = "not ranked"
    """A library that never has a rank."""


def role_of(is_ranked: bool, is_installable: bool, is_floor: bool) -> Role:
    """Return the role of a row. A choice may be the floor of other rows and stays a choice."""
    if is_ranked and is_installable:
        return Role.CHOICE
    if is_floor:
        return Role.FLOOR
    return Role.UNRANKED if is_installable else Role.REFERENCE
