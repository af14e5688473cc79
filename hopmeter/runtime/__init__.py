"""Execute a plan: start new nodes for every trial, and leave no process or file behind."""
