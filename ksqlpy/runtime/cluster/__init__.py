"""Several machines: the executors of a Spark cluster, and the standby that takes over the service of an engine.

What an engine does not need is a null object, which is chosen once at its start (``choice.py``).
"""
