"""Defines a class for each table of a transport's manifest, `transport.toml`."""
