"""Decodes image and video files, which are used as payloads, into contiguous rgb8 rows before a measurement starts."""

from hopmeter.images.source import PictureError, Source, parse_source

__all__ = ["PictureError", "Source", "parse_source"]
