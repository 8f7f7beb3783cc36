"""SQL as code: files formatted, checked, compared with a server, brought onto it, and migrations."""
