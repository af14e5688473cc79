"""Files, processes and the terminal, as used by every other package of hopmeter."""
