"""Which rounds a run with a budget measures next, from what its trials have decided so far."""
