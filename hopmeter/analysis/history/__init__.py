"""The values of each cell in all runs of a machine, and the runs at which the cell's level changed."""
