"""Provides files, processes and the terminal to all other packages of hopmeter."""
