"""Runs a Python node, which loads one adapter and uses the adapter in the instrument's roles."""
