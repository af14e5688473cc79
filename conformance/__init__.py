"""The tests that every adapter must pass, alone and in every language pair."""
