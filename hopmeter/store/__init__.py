"""Store samples as Parquet files, manage run folders, and query several runs together."""
