"""Runs a Python node, which loads one adapter and runs endpoints that use it."""
