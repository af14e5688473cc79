"""One module for each codec that hopmeter compares with its own: `encode(obj)` and `decode(frames)`."""
