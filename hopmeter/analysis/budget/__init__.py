"""Decide which cells are measured next in a run that has a time budget, based on the results so far."""
