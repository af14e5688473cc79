"""Advice from a run: the recommended transport, its advantage, CPU use and settings, and when the recommendation
changes."""
