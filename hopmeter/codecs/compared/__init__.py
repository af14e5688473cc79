"""One file for each codec to compare with: `encode(obj)` and `decode(frames)`."""
