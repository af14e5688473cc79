"""Turn raw samples into statistics; docs/method.md explains the rules, docs/metrics.md each column."""

from hopmeter.analysis.cell import analyse
from hopmeter.analysis.floors import headline
from hopmeter.analysis.whole_run import analyse_run

__all__ = ["analyse", "analyse_run", "headline"]
