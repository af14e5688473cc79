"""Choose the next rounds of a run with a time budget, based on the results so far."""
