"""What the prompt looks like: colours of words, of the menu and of the line at the bottom."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["CONTINUED", "PROMPT", "STYLE"]

PROMPT = "ksql> "
CONTINUED = "    > "

STYLE: Mapping[str, str] = MappingProxyType(
    {
        "pygments.keyword": "bold ansiblue",
        "pygments.keyword.pseudo": "nobold ansiblue",
        "pygments.keyword.type": "nobold ansicyan",
        "pygments.keyword.constant": "nobold ansimagenta",
        "pygments.name.function": "ansiyellow",
        "pygments.name.variable": "ansimagenta",
        "pygments.literal.string": "ansigreen",
        "pygments.literal.string.interpol": "ansimagenta",
        "pygments.literal.number": "ansicyan",
        "pygments.comment": "italic ansibrightblack",
        "prompt": "bold ansigreen",
        "continuation": "ansibrightblack",
        "auto-suggestion": "ansibrightblack",
        "bottom-toolbar": "noreverse bg:ansibrightblack ansiwhite",
        "bottom-toolbar.ready": "ansibrightgreen",
        "bottom-toolbar.starting": "ansibrightyellow",
        "bottom-toolbar.away": "ansibrightred",
        "completion-menu.completion": "bg:ansiwhite ansiblack",
        "completion-menu.completion.current": "noreverse bg:ansiblue ansiwhite",
        "completion-menu.meta.completion": "bg:ansiwhite ansibrightblack",
        "completion-menu.meta.completion.current": "bg:ansiblue ansiwhite",
    }
)
"""Names of prompt-toolkit's classes and how they look, in the colours that the terminal has for its 16 names."""
