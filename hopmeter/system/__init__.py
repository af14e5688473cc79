"""Files, processes and the terminal: what every other package of hopmeter may use."""
