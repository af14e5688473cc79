"""Families of pairs: the pairs of a family share a level of 5 %, and one family takes nothing from another.

The choices are the cells that are ranked. A reference stands beside them, so its pairs are a family of their own. Which
choice is the best comes from the same data. Therefore this family has every pair with a reference, and not only the
pairs with the best choice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.intp]
Name = Literal["choices", "references"]
CHOICES: Name = "choices"
REFERENCES: Name = "references"


@dataclass(frozen=True)
class Family:
    """The places of its pairs among all pairs, and the divisors of the level for each step down."""

    name: Name
    places: Places
    divisors: tuple[int, ...]


def make_families(first: Places, second: Places, is_choice: NDArray[np.bool_], best: int | None = None) -> list[Family]:
    """Return the families that have pairs: all pairs of choices, or those with the `best` one, and the other pairs.

    `first` and `second` are the cells of each pair.
    """
    among = is_choice[first] & is_choice[second]
    chosen = among if best is None else among & ((first == best) | (second == best))
    many = int(is_choice.sum())
    steps = all_pairs_divisors(many) if best is None else best_divisors(many)
    found = [
        Family(CHOICES, np.flatnonzero(chosen), steps),
        Family(REFERENCES, np.flatnonzero(~among), holm_divisors(int((~among).sum()))),
    ]
    return [each for each in found if len(each.places)]


@lru_cache(maxsize=64)
def _counts_of_ties(cells: int) -> tuple[int, ...]:
    """Return how many pairs may be equal at once (Shaffer 1986), in order: of three cells none, one or all three pairs.

    The bits of a number stand for the counts of fewer cells, because all partitions of 100 cells cannot be listed.
    """
    bits = [1]
    for many in range(1, cells + 1):
        bits.append(0)
        for size in range(1, many + 1):
            bits[many] |= bits[many - size] << size * (size - 1) // 2
    return tuple(count for count in range(bits[cells].bit_length()) if bits[cells] >> count & 1)


def _divisors(pairs: int, counts: Sequence[int]) -> tuple[int, ...]:
    """Return, for each number of open pairs from `pairs` down to 1, the largest of the ascending counts that is not
    above it."""
    return tuple(counts[bisect_right(counts, left) - 1] for left in range(pairs, 0, -1))


@lru_cache(maxsize=64)
def all_pairs_divisors(cells: int) -> tuple[int, ...]:
    """Return by how much the level of each step is divided if all pairs are compared (Shaffer's first procedure)."""
    return _divisors(cells * (cells - 1) // 2, _counts_of_ties(cells))


@lru_cache(maxsize=256)
def some_pairs_divisors(pairs: tuple[tuple[Hashable, Hashable], ...]) -> tuple[int, ...]:
    """Return the divisors if only some pairs of the cells are compared, such as those that are still open.

    Cells that open pairs connect are counted together: if all of their pairs are open, as many may be equal at once as
    for a table of these cells; otherwise any number.
    """
    counts = {0}
    for cells, many in _components(pairs):
        is_whole = 2 * many == len(cells) * (len(cells) - 1)
        own = _counts_of_ties(len(cells)) if is_whole else range(many + 1)
        counts = {each + more for each in counts for more in own}
    return _divisors(len(pairs), sorted(counts))


def _components(pairs: Iterable[tuple[Hashable, Hashable]]) -> list[tuple[frozenset[Hashable], int]]:
    """Return the cells that pairs connect, each set with the number of its pairs."""
    found: list[tuple[frozenset[Hashable], int]] = []
    for pair in pairs:
        touched = [each for each in found if each[0] & set(pair)]
        found = [each for each in found if each not in touched]
        found.append((frozenset(pair).union(*(cells for cells, _ in touched)), 1 + sum(many for _, many in touched)))
    return found


def best_divisors(cells: int) -> tuple[int, ...]:
    """Return the divisors if all are compared with the best: any of the cells still open could have become the best."""
    return tuple(left * (left + 1) // 2 for left in range(cells - 1, 0, -1))


def holm_divisors(pairs: int) -> tuple[int, ...]:
    """Return the divisors for any pairs (Holm 1979)."""
    return tuple(range(pairs, 0, -1))
