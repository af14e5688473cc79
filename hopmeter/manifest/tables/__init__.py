"""The tables of a manifest, `transport.toml`: a class for each table."""
