"""Plain data that all layers share: cells, trials, columns, paces, and quantities with their units."""
