"""The sections of a page. Each module converts rows to headings, tables and figures."""
