"""What commands share. They import it when they run, so that no command pays for another's libraries."""
