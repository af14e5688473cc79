"""Decide which cells of a table are better than others: rounds, ranks, floors and open questions."""
