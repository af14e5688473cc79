"""Files, processes and the terminal, for every other package of hopmeter."""
