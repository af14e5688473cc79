"""Rank transports for whole workloads, and compare flows measured together with flows measured separately."""
