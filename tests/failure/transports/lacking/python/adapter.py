"""An adapter whose library does not exist."""

import a_library_that_nobody_has  # type: ignore[import-not-found]


class Transport:
    library = a_library_that_nobody_has
