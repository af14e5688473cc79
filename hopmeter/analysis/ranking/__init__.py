"""Rank the cells of each table by rounds, compare cells with their floors, and find the questions that are still
open."""
