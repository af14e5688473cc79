"""Image and video files as payloads: they are decoded to contiguous rgb8 rows before a measurement starts."""

from hopmeter.images.source import PictureError, Source, parse_source

__all__ = ["PictureError", "Source", "parse_source"]
