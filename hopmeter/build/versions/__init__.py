"""Provides other versions of a Python library, a crate or this checkout, for comparisons between two versions."""
