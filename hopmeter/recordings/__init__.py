"""Reads recordings of messages. A flow of a workload can replay the times, sizes and bytes of a recording."""
