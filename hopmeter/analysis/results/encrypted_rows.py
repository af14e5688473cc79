"""Rows with encryption, and the rows that differ from them only in not being encrypted."""

from __future__ import annotations

from hopmeter.analysis.results.groups import Group
from hopmeter.analysis.results.run_results import Row


def encrypted_rows(group: Group) -> list[Row]:
    """Return the encrypted rows of a group that contains their unencrypted rows, lowest cost of encryption first."""
    known = {(id(row.run), row["cell"]) for row in group.rows}
    found = [row for row in group.rows if (id(row.run), row["unsecured"]) in known]
    return sorted(found, key=lambda row: row["times_unsecured"] or float("inf"))


def unencrypted_row(group: Group, row: Row) -> Row:
    """Return the row that differs from an encrypted row of the group only in not being encrypted."""
    return next(each for each in group.rows if each.run is row.run and each["cell"] == row["unsecured"])


def compares_encryption(group: Group) -> bool:
    """Return whether all choices of a group, which exclude floors and references, are encrypted rows and their
    unencrypted rows. The run then asks what encryption costs, and not which transport is fastest."""
    encrypted = encrypted_rows(group)
    compared = {id(row) for each in encrypted for row in (each, unencrypted_row(group, each))}
    return bool(encrypted) and compared >= set(map(id, group.choices))


def answers_question(group: Group, one: Row, other: Row) -> bool:
    """Return whether the order of two rows of a group answers the question of the run. If the run asks what encryption
    costs, only an encrypted row and its unencrypted row do."""
    pairs = ((one, other), (other, one))
    return not compares_encryption(group) or any(row["unsecured"] == plain["cell"] for row, plain in pairs)
