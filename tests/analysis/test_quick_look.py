"""A simulated quick look decides most clearly different pairs, and runs more rounds of noisier tables."""

import numpy as np
import pytest

from hopmeter.analysis.budget import budgeted_table
from tests.analysis.quick_look_simulation import REFERENCES, QuickLook
from tests.analysis.shared_budget import PAIRS, false_shares
from tests.statistics.noise_settings import Setting

LOOKS = 8
MOST_FALSE = 0.065


def find_shares() -> tuple[float, float]:
    """Return the ratio of the rounds of the image table to those of the message table, and the share of decided
    pairs."""
    looks = [QuickLook(seed) for seed in range(LOOKS)]
    rounds = [look.table("image").rounds / look.table("timing").rounds for look in looks]
    shares = [look.share_decided(name) for look in looks for name in ("timing", "image")]
    return float(np.mean(rounds)), float(np.mean(shares))


def test_the_noisier_table_has_more_rounds_and_more_pairs_are_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, share = find_shares()
    monkeypatch.setattr(budgeted_table, "EQUAL_ROUNDS", 10**6)
    monkeypatch.setattr(budgeted_table, "REFERENCE_STEP", 1)
    equal_rounds, equal_share = find_shares()
    assert rounds > 1.05 > equal_rounds
    assert share > equal_share - 0.01
    assert share > 0.84


def test_references_have_half_the_trials_and_all_tables_their_least_rounds() -> None:
    look = QuickLook(1)
    trials = {cell: count for cell, count in look.rounds._good.items() if cell.endswith("True")}
    for name in ("timing", "image"):
        rounds = look.table(name).rounds
        assert rounds >= 8
        own = {
            cell.split("-", 1)[1].rsplit("-", 1)[0]: count for cell, count in trials.items() if cell.startswith(name)
        }
        assert all(count <= (rounds + 1) // 2 for transport, count in own.items() if transport in REFERENCES)
        assert own["shm"] == (rounds + 1) // 2


@pytest.mark.nightly
@pytest.mark.parametrize("settings", PAIRS, ids=lambda each: " and ".join(setting.__name__ for setting in each))
def test_equal_cells_of_tables_that_share_a_budget_are_rarely_called_different(
    settings: tuple[Setting, Setting],
) -> None:
    assert max(false_shares(settings, 400)) <= MOST_FALSE
