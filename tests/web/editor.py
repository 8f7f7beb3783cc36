"""The editor of the page, as a person uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

__all__ = ["cells", "results", "run", "write"]


def write(page: Page, text: str) -> None:
    """Puts a text in the place of that of the tab, without what an editor adds while one types."""
    page.get_by_role("textbox", name="Statements").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def run(page: Page, text: str) -> None:
    """Writes statements and runs all of them."""
    write(page, text)
    page.get_by_role("button", name="Run all").click()


def results(page: Page) -> Locator:
    return page.get_by_role("region", name="Results")


def cells(page: Page) -> list[list[str]]:
    """The rows of a query that are in sight."""
    rows = page.get_by_role("grid", name="Rows").locator(".row")
    return [row.get_by_role("gridcell").all_inner_texts() for row in rows.all()]
