"""One module for each framework; hopmeter/codecs/lookup.py lists the names that a module defines."""
