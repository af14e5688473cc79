"""Compute latencies, losses, rates and missed deadlines from the samples of a trial."""
