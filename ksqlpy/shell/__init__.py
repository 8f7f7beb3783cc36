"""What people at a terminal use: the commands and how their results are shown."""
