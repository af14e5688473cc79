"""The report: what was asked, what came out, and how far it may be believed, in one HTML file.

For notebooks and scripts: `boxes` draws what runs measured, `messages` and `write_csv` give every message as a row.
"""

from hopmeter.report.notebook import boxes, messages, write_csv
from hopmeter.report.writing import write

__all__ = ["boxes", "messages", "write", "write_csv"]
