"""Store results: samples as Parquet files, and the run folder. Also query several runs."""
