"""Comparison codecs: one module, with `encode(obj)` and `decode(frames)`, for each codec that hopmeter's own codec
is compared with."""
