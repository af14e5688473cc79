"""Choose which rounds a run with a budget measures next, based on what its trials have decided so far."""
