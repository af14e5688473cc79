"""Encodes values that are not arrays: standard library types, the user's records, and pandas values."""
