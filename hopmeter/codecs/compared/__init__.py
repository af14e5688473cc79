"""Codecs that benchmarks compare with hopmeter's own codec. Each module defines `encode(obj)` and `decode(frames)`."""
