"""Shared parts of figures: colours, axes, legends, label placement and SVG."""
