"""The tests. Helpers of several folders lie in ``support``, one of a single folder in it: ``tests.shell.terminal``."""
