"""The web page, as ``make web`` builds it from ``web/`` into ``static/``."""
