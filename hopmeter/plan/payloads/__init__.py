"""The payloads of cells: objects of codecs, messages of schemas, and their sizes."""
