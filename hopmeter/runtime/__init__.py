"""Executing a plan: fresh nodes for every trial, and nothing of them left afterwards."""
