"""The stored results of a run, as tables and figures read them: rows, groups, their order, samples behind a row."""
