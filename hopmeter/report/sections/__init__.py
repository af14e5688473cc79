"""The sections of a page: each turns rows into headings, tables and figures."""
