"""Other versions to compare with: of a library, of a crate, of this checkout."""
