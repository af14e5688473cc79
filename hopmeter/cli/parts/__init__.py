"""Functions that several commands share. A command imports these functions only when it runs, so that no command loads
another command's libraries."""
