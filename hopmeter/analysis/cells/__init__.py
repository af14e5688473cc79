"""From the trials of a run to the rows of `cells.parquet`, with the verdicts on requirements."""
