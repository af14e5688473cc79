"""The test suite that every adapter of every transport must pass, alone and in every language pair."""
