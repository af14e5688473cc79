"""Compare two runs, a run with a baseline, or the two sides of one run. This package prints nothing."""
