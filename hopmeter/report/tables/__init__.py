"""Tables: a common model, a builder for each kind of table, and renderers for terminal, page, Markdown, CSV and
JSON."""
