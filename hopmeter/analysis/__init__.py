"""From raw samples to figures; docs/method.md says how and why, docs/metrics.md what each column means."""

from hopmeter.analysis.cell import analyse
from hopmeter.analysis.floors import headline
from hopmeter.analysis.whole_run import analyse_run

__all__ = ["analyse", "analyse_run", "headline"]
