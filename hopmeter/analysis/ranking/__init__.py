"""Rank the cells of a table: rounds, ranks, floors and open questions."""
