"""Makes what the tests of codecs share importable by its name."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
