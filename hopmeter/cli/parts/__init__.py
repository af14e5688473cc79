"""Common parts of commands. A command imports them when it runs, so that no command loads another's libraries."""
