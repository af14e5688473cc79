"""A Python node: loads one adapter, and runs it in the instrument's roles."""
