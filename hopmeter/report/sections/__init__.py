"""The sections of a page. Each module of this package converts rows to headings, tables and figures."""
