"""Shares of few events: late messages, and high percentiles of short trials."""
