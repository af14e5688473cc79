"""Comparisons as text: sentences, tables, a report section, and files for other tools."""
