"""What agent and coordinator share: lines over a channel, greetings, proofs, and checks of a peer's values."""
