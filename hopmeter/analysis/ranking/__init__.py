"""Which cells of a table are better than others: rounds, ranks, floors, and what is not decided yet."""
