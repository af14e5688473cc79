"""Divide the pairs of cells into families. All pairs of a family share a significance level of 5 %. The pairs of one
family do not affect how the pairs of another family are tested.

Choices are the cells that are ranked. References have no rank, so all pairs that contain a reference form a separate
family. In the family of references, all pairs are tested, not only those with the best choice, which is itself
estimated from the data.
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
    """A family of pairs: the indices of the pairs, and the divisor of the significance level at each step of the
    step-down test."""

    name: Name
    places: Places
    divisors: tuple[int, ...]


def make_families(first: Places, second: Places, is_choice: NDArray[np.bool_], best: int | None = None) -> list[Family]:
    """Return the non-empty families: the pairs of choices, and the pairs with a reference.

    If `best` is given, the first family contains only pairs that include the choice `best`. `first` and `second`
    contain the cell indices of each pair.
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
    """Return, in ascending order, the numbers of pairs that can be equal at the same time (Shaffer 1986). For example,
    if there are three cells, 0, 1 or 3 pairs can be equal at once.

    Intermediate results are bit sets in an integer, because listing all partitions of 100 cells takes too long.
    """
    bits = [1]
    for many in range(1, cells + 1):
        bits.append(0)
        for size in range(1, many + 1):
            bits[many] |= bits[many - size] << size * (size - 1) // 2
    return tuple(count for count in range(bits[cells].bit_length()) if bits[cells] >> count & 1)


def _divisors(pairs: int, counts: Sequence[int]) -> tuple[int, ...]:
    """For each number of untested pairs, from `pairs` down to 1, return the largest of `counts` that does not exceed
    the number."""
    return tuple(counts[bisect_right(counts, left) - 1] for left in range(pairs, 0, -1))


@lru_cache(maxsize=64)
def all_pairs_divisors(cells: int) -> tuple[int, ...]:
    """Return the divisor of the significance level at each step if all pairs of cells are compared (Shaffer's first
    procedure)."""
    return _divisors(cells * (cells - 1) // 2, _counts_of_ties(cells))


@lru_cache(maxsize=256)
def some_pairs_divisors(pairs: tuple[tuple[Hashable, Hashable], ...]) -> tuple[int, ...]:
    """Return the divisors of the significance level if only some pairs of cells are compared, such as those that are
    still undecided.

    Each connected set of cells contributes a separate number of equal pairs. If all pairs of a connected set are
    compared, `_counts_of_ties` limits how many of these pairs can be equal. If only some pairs of a connected set are
    compared, any number of these pairs can be equal.
    """
    counts = {0}
    for cells, many in _components(pairs):
        is_whole = 2 * many == len(cells) * (len(cells) - 1)
        own = _counts_of_ties(len(cells)) if is_whole else range(many + 1)
        counts = {each + more for each in counts for more in own}
    return _divisors(len(pairs), sorted(counts))


def _components(pairs: Iterable[tuple[Hashable, Hashable]]) -> list[tuple[frozenset[Hashable], int]]:
    """Return the connected sets of cells, each with the number of pairs in the set."""
    found: list[tuple[frozenset[Hashable], int]] = []
    for pair in pairs:
        touched = [each for each in found if each[0] & set(pair)]
        found = [each for each in found if each not in touched]
        found.append((frozenset(pair).union(*(cells for cells, _ in touched)), 1 + sum(many for _, many in touched)))
    return found


def best_divisors(cells: int) -> tuple[int, ...]:
    """Return the divisors of the significance level if every cell is compared with the best cell. At each step, any
    remaining cell may be the true best cell."""
    return tuple(left * (left + 1) // 2 for left in range(cells - 1, 0, -1))


def holm_divisors(pairs: int) -> tuple[int, ...]:
    """Return the divisors of the significance level for arbitrary pairs (Holm 1979)."""
    return tuple(range(pairs, 0, -1))
