"""What image and video files show, as payloads: decoded before anything is measured, rgb8, rows without gaps."""

from hopmeter.images.source import PictureError, Source, parse_source

__all__ = ["PictureError", "Source", "parse_source"]
