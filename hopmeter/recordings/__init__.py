"""Recordings of messages; a workload's flow replays their times, sizes and bytes."""
