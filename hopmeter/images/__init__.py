"""Image and video files as payloads: decoded to rgb8 rows without gaps before a measurement starts."""

from hopmeter.images.source import PictureError, Source, parse_source

__all__ = ["PictureError", "Source", "parse_source"]
