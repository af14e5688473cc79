"""Comparisons for readers: a sentence, tables, a section of the report, and files for other tools."""
