"""How this machine affects a measurement, and what to do about it: `description.describe()`, `advice.findings()`,
`noise.noise_probe()`."""
