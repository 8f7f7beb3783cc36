"""Places in a text as clients count them, in UTF-16 code units, and as Python does, in characters."""

from __future__ import annotations

from bisect import bisect_left

__all__ = ["Places"]


class Places:
    """The places of one text. A character beyond U+FFFF is two units of UTF-16."""

    def __init__(self, text: str) -> None:
        self._text = text
        wide = not text.isascii() and max(text) > "\uffff"
        self._wide = [i for i, letter in enumerate(text) if letter > "\uffff"] if wide else []
        self._units = [place + number for number, place in enumerate(self._wide)]  # where they are in UTF-16

    def units(self, place: int) -> int:
        """The number of code units ahead of a character."""
        return place + bisect_left(self._wide, place)

    def place(self, units: int) -> int:
        """The character at so many code units; one in the middle of a character is at its beginning."""
        number = bisect_left(self._units, units)
        place = units - number
        if number and self._units[number - 1] + 1 == units:  # between its two units
            return self._wide[number - 1]
        return min(max(place, 0), len(self._text))

    def line(self, place: int) -> tuple[int, int]:
        """Line and column of a character, from 1; a column is a code unit."""
        begin = self._text.rfind("\n", 0, place) + 1
        return self._text.count("\n", 0, place) + 1, self.units(place) - self.units(begin) + 1
