"""The command line. Each module with a function `register(app)` adds its commands to the application."""
