"""One codec module per framework. hopmeter/codecs/lookup.py describes the names that a codec module defines."""
