"""Arrow arrays in frames: their types, their memory layout, and the checks before Arrow reads a buffer."""
