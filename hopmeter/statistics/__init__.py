"""Compare cells by rounds: ranks, ratios with intervals, verdicts and stopping rules. This package does not depend on
runs, cells or files."""

from hopmeter.statistics.detection import detectable, rounds_for_ratio, rounds_needed
from hopmeter.statistics.duets import pair_turns
from hopmeter.statistics.looks import is_precise, level_of_result, look_rounds, retain_decisions, spend
from hopmeter.statistics.noise_model import is_beyond_use
from hopmeter.statistics.observations import Observation
from hopmeter.statistics.ranking import CellPair, Noise, Ranking, fit
from hopmeter.statistics.verdicts import Verdict, verdict

__all__ = [
    "CellPair",
    "Noise",
    "Observation",
    "Ranking",
    "Verdict",
    "detectable",
    "fit",
    "is_beyond_use",
    "is_precise",
    "level_of_result",
    "look_rounds",
    "pair_turns",
    "retain_decisions",
    "rounds_for_ratio",
    "rounds_needed",
    "spend",
    "verdict",
]
