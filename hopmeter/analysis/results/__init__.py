"""The stored results of a run, prepared for tables and figures: rows, groups, ranks and samples."""
