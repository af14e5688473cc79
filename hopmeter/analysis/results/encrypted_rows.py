"""Encrypted rows, and the unencrypted rows of the same transports under the same conditions."""

from __future__ import annotations

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row


def encrypted_rows(group: Group) -> list[Row]:
    """Return the encrypted rows of a group whose unencrypted rows are also in the group. The row with the lowest cost
    of encryption comes first."""
    known = {(id(row.run), row["cell"]) for row in group.rows}
    found = [row for row in group.rows if (id(row.run), row["unsecured"]) in known]
    return sorted(found, key=lambda row: row["times_unsecured"] or float("inf"))


def unencrypted_row(group: Group, row: Row) -> Row:
    """Return the unencrypted row with which an encrypted row of the group is compared."""
    return next(each for each in group.rows if each.run is row.run and each["cell"] == row["unsecured"])


def compares_encryption(group: Group) -> bool:
    """Return whether each choice of a group is an encrypted row or the unencrypted row of one. The run then asks what
    encryption costs, and not which transport is fastest. Floors and references are not choices."""
    encrypted = encrypted_rows(group)
    compared = {id(row) for each in encrypted for row in (each, unencrypted_row(group, each))}
    return bool(encrypted) and compared >= set(map(id, group.choices))


def answers_question(group: Group, one: Row, other: Row) -> bool:
    """Return whether the order of two rows of a group answers the question of the run. If the run asks what encryption
    costs, only the order of an encrypted row and its unencrypted row answers the question."""
    pairs = ((one, other), (other, one))
    return not compares_encryption(group) or any(row["unsecured"] == plain["cell"] for row, plain in pairs)
