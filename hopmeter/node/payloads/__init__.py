"""Creates, encodes, decodes and compares the objects that a flow's messages carry."""
