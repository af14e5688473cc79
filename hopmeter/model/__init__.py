"""Define the data that all layers share: cells, trials, columns, paces and quantities with units."""
