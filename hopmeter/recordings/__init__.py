"""Recordings of messages, whose times, sizes and bytes a flow of a workload replays."""
