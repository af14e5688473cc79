"""Turn raw samples into statistics; docs/method.md explains the rules, docs/metrics.md each column."""
