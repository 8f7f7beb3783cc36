"""The report on performance: ``python -m bench report`` writes figures as JSON, ``python -m bench.report`` the page.

``run`` measures; ``record``: the file of figures; ``page`` and ``plots``: docs/performance.md and its pictures, from
that file alone.
"""
