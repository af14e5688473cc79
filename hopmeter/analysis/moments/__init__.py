"""Analyse trials that measure one time instead of each message's latency: the first message, or a recovery."""
