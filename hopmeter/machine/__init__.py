"""The properties of this machine that affect a measurement, and remedies: `description.describe()`,
`advice.findings()`, `noise.noise_probe()`."""
