"""Store results: raw samples as Parquet, the run folder, and queries over many runs as one table."""

from hopmeter.store.run_folder import RunFolder

__all__ = ["RunFolder"]
