"""One file for each framework; hopmeter/codecs/lookup.py lists the names that it defines."""
