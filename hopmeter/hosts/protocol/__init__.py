"""The protocol between agent and coordinator: line channels, greetings, proofs and value checks."""
