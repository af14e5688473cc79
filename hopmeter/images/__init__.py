"""What image and video files show, as payloads: decoded before anything is measured, rgb8, rows without gaps."""

from hopmeter.images.source import PictureError, Source, parsed

__all__ = ["PictureError", "Source", "parsed"]
