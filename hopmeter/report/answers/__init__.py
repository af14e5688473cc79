"""The answers of a run in sentences: the best row, its advantage, and the command that decides open questions."""
