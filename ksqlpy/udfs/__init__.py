"""Functions that users write in Python: what they are, and the processes that run them."""
