"""ksqlpy as a library: sessions with an engine in this process or with a server; ``ksqlpy`` itself names the public."""
