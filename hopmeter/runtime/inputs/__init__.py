"""Files that a run makes from the user's files before its first trial, and removes when it ends."""
