"""The advice from a run: the recommended transport, by how much it is better, its CPU and settings, and when this
changes."""
