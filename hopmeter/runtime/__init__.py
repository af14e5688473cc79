"""Executes a plan: starts new nodes for each trial, and leaves no processes or files behind."""
