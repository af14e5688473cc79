"""One codec module per framework. hopmeter/codecs/lookup.py lists the names that a module defines."""
