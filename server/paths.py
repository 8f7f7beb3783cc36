"""Parameters of paths that take all characters: of Starlette's ``path`` line ends are none."""

from __future__ import annotations

from starlette.convertors import PathConvertor, register_url_convertor

__all__ = ["TEXT"]

TEXT = "text"
"""Its name, as in ``{name:text}``."""


class _Text(PathConvertor):
    """Anything."""

    regex = "(?s:.*)"


register_url_convertor(TEXT, _Text())
