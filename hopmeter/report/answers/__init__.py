"""Answers of a run in sentences: what is best, by how much, what is undecided, and which command decides it."""
