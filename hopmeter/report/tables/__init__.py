"""Tables: a common model, builders, and renderers for terminal, page, Markdown, CSV and JSON."""
