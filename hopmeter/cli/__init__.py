"""The command line; each module that has a `register(app)` adds commands to it."""
