"""Describes the properties of this machine that affect a measurement, and suggests how to improve them.

The entry points are `description.describe()`, `advice.findings()` and `noise.noise_probe()`.
"""
