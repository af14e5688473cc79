"""What figures share: colours, axes, legends, label placement and SVG."""
