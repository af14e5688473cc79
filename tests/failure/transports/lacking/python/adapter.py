"""Needs a library that nobody has."""

import a_library_that_nobody_has  # type: ignore[import-not-found]


class Transport:
    library = a_library_that_nobody_has
