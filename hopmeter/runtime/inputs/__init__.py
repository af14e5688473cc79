"""Files that a run makes from the user's before its first trial, and removes at its end."""
