"""Pages over many runs: the site that filters all of them, and the history of each cell."""
