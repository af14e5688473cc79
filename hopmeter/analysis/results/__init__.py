"""The stored results of a run for tables and figures: rows, groups of rows, their order, and the samples of each
row."""
