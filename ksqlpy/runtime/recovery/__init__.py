"""What brings queries back: after a death of Spark's JVM (``watch.py``, ``restart.py``, ``suspects.py``), and after a
change of their topics (``topic_changes.py``). A query that fails alone restarts itself: ``spark/query/lifecycle.py``.
"""
