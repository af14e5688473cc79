"""The sections of a page; each module converts rows to headings, tables and figures."""
