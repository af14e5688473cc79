"""How this machine affects a measurement, and the remedies: `description.describe()`, `advice.findings()`,
`noise.noise_probe()`."""
