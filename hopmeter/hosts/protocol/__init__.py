"""What agent and coordinator share: lines over a channel, greetings, proofs, and checks of what a peer sends."""
