"""One file for each framework; hopmeter/codecs/lookup.py says what it offers."""
