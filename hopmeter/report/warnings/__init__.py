"""What to know before relying on a run: rules on its results and on its machine."""
