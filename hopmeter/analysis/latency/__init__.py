"""Compute latencies from the samples of a trial: percentiles with intervals, losses, pace and deadlines."""
