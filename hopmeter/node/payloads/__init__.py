"""The objects that the messages of a flow carry: how a node creates, encodes, decodes and compares them."""
