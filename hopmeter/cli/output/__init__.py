"""What commands print in a terminal: plans, tables of results, and what follows them."""
