"""Shares of rare events: late messages, and high percentiles of short trials."""
