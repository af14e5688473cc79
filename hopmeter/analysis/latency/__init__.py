"""From the samples of one trial to latencies: pairs of times, percentiles with intervals, losses, pace, deadlines."""
