"""Whole workloads: their flows measured together and alone, and the ranking of transports for the whole workload."""
