"""Runs a Python node: loads one adapter, and uses it in the instrument's roles."""
