"""Reads recordings of messages. A workload's flow can replay their times, sizes and bytes."""
