"""Parts that several commands share. Each command imports these parts when it runs, so that no command loads another
command's libraries."""
