"""Warnings about a run: rules that check the run's results and machine."""
