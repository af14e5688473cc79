"""Arrow arrays in frames: their types and memory layout, and the checks before Arrow reads a buffer."""
