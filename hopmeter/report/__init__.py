"""The report: what was asked, what came out, and how far it may be believed, in one HTML file."""

from hopmeter.report.writing import write

__all__ = ["write"]
