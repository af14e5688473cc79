"""Parts that several commands share. Commands import them when they run, so that no command loads another's
libraries."""
