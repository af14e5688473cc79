"""What this machine does to a measurement, and what to do about it: `machine.describe()`, `advice.findings()`,
`noise.noise_probe()`."""
