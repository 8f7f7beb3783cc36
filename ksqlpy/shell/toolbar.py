"""The line at the bottom: which server, how it is, what runs there."""

from __future__ import annotations

from collections.abc import Mapping

from ksqlpy.shell.text import cut

__all__ = ["toolbar"]

_SAID = {
    "connecting": "connecting",
    "ready": "ready",
    "starting": "starting",
    "away": "away, trying again",
    "slow": "slow to answer",
    "no access": "no access",
}


def toolbar(
    url: str,
    state: str,
    queries: int,
    failed: Mapping[str, int],
    output: str,
    backlog: Mapping[str, str],
    room: int,
) -> list[tuple[str, str]]:
    """Styles and texts, together at most ``room`` wide; what matters least is left out first.

    ``queries``: how many run; ``failed``: how many do not, by their state.
    """
    style = {"ready": "ready", "connecting": "starting", "starting": "starting", "slow": "starting"}.get(state, "away")
    parts = [(f"class:bottom-toolbar.{style}", _SAID[state])]
    if state == "ready":
        parts += [("class:bottom-toolbar.away", f"{count} {of}") for of, count in failed.items()]
        parts.append(("", f"{queries} quer{'y runs' if queries == 1 else 'ies run'}"))
        parts += [("class:bottom-toolbar.starting", f"{id}: {text}") for id, text in list(backlog.items())[:2]]
    if output != "table":
        parts.append(("", f"output {output.upper()}"))
    left = room - 2 - sum(len(text) + 2 for _, text in parts)
    if left < 12:
        url = url.partition("://")[2]
    fragments = [("", f" {cut(url, max(left, 8))}")]
    used = len(fragments[0][1])
    for style, text in parts:
        if used + 2 + len(text) > room:
            break
        fragments += [("", "  "), (style, text)]
        used += 2 + len(text)
    return fragments
