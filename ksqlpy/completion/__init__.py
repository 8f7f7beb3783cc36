"""What can stand at a place of a text: of the parser and of the names that there are; for the shell and the server."""
