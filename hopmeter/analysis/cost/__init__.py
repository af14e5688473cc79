"""Compute the CPU time, memory and stolen time of messages, find the limiting resource, and explain slow messages."""
