"""Warnings about a run: rules that check its results and its machine."""
