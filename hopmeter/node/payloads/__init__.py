"""The objects that the messages of a flow carry: how a node makes, encodes, decodes and compares them."""
