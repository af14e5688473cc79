"""What figures share: colours, axes, legends, the placement of names, and SVG."""
