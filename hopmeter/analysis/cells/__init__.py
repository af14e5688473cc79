"""Compute the rows of `cells.parquet` from the trials of a run, including the verdicts on requirements."""
