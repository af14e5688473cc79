"""Comparisons for readers: sentences, tables, a report section, and files for other tools."""
