"""Estimate and compare shares of rare events: late messages, and high percentiles of short trials."""
