"""The runs of a machine over time: each cell through all runs, and where its level changed."""
