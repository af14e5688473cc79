"""Provides other versions to compare with: of a Python library, of a crate, or of this checkout."""
