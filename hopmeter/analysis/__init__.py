"""Turn raw samples into statistics. docs/method.md explains the method, and docs/metrics.md explains each column."""
