"""Values that are not arrays: those of Python's standard library, the user's records, and the cells of pandas
objects."""
