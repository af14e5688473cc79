"""Compare two runs, compare a run with a baseline, or compare the two sides of one run. This package prints nothing."""
