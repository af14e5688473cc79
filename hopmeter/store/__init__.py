"""Store results: samples as Parquet, the run folder, and queries over several runs."""
