"""Whole workloads: their flows beside each other and alone, and the ranking of transports for all flows at once."""
