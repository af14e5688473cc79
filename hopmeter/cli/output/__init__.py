"""The terminal output of commands: plans, result tables, and remarks."""
