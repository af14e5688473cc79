"""The history of a machine: the values of each cell in all its runs, and the runs at which its level changed."""
