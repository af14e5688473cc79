"""Encodes Arrow arrays as frames, and validates received buffers before Arrow reads them."""
