"""Executes a plan: starts new nodes for every trial, and leaves no process or file behind."""
