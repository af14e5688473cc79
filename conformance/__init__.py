"""The test suite that every adapter of every transport passes, and every language pair."""
