"""pandas 1, for a comparison with current pandas: the same codec, in an environment with the old pandas and NumPy."""

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
