"""Store results: raw samples as Parquet, the run folder, and queries over many runs as one table."""
