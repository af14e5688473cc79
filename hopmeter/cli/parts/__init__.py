"""Functions that several commands share. Each command imports the functions when it runs, so that no command loads
another command's libraries."""
