"""Other versions to compare with: of a Python library, of a crate, of this checkout."""
