"""Plain data that crosses layers: cells, trials, columns, paces, and amounts with their units."""
