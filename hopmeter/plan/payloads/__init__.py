"""What the messages of a cell carry: objects of codecs, messages of schemas, and their sizes."""
