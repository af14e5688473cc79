"""The terminal output of commands: plans, result tables, and the remarks below them."""
