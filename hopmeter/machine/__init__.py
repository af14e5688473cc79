"""Describes the properties of this machine that affect a measurement, and suggests remedies.

Start with `description.describe()`, `advice.findings()` or `noise.noise_probe()`.
"""
