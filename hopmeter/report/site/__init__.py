"""Pages about many runs: a site that filters all runs, and the history of each cell."""
