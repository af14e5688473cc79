"""Execute a plan: start fresh nodes for every trial, and leave nothing behind."""
