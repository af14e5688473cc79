"""Define the roles that rows have in a ranking table, such as choice or floor. The report decides which words it uses
for each role."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """The role of a row in its ranking table."""

    CHOICE = "choice"
    """A ranked transport that a user can install and that a recommendation may name."""
    FLOOR = "floor"
    """The floor of other rows. The floor itself is unranked or is not a library that a user can install."""
    REFERENCE = "reference"
    """A transport that is not a library. A reference is ranked only if its table has no choice."""
    UNRANKED = "not ranked"
    """A library that is never ranked."""


def role_of(is_ranked: bool, is_installable: bool, is_floor: bool) -> Role:
    """Return the role that a row with the given properties has in its table. A row that is both a choice and the floor
    of other rows has the role `CHOICE`."""
    if is_ranked and is_installable:
        return Role.CHOICE
    if is_floor:
        return Role.FLOOR
    return Role.UNRANKED if is_installable else Role.REFERENCE
