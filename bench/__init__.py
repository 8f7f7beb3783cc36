"""Measures ksqlpy on this machine: `make bench`, or `python -m bench --help`."""
