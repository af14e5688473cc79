"""Values that are no arrays: those of Python's standard library, records of the user, and cells of pandas."""
