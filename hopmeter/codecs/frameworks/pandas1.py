"""The pandas codec with pandas 1 and its old NumPy in a separate environment, for comparison with current pandas."""

from __future__ import annotations

from typing import Any

from hopmeter.codecs.frameworks import pandas

ROOTS = ()
PACKAGE = "pandas"
EXTRA = "pandas1"
APART = ("pandas==1.5.3", "numpy==1.23.5", "pyarrow==18.1.0")
MEGABYTES = (70, 250)
READERS: dict[str, Any] = {}
adopt = pandas.adopt
FORM = pandas.FORM
