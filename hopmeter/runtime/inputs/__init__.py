"""Temporary files that a run creates from the user's files before its first trial."""
