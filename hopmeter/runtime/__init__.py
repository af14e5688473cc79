"""Executes a plan: starts new nodes for each trial, and ensures that no processes or files remain after the trial."""
