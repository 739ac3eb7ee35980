"""The documentation as the tests see it: pages, code blocks, tables and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

_BLOCK = re.compile(
    r"^<!-- (?P<mark>run|file: (?P<file>\S+)) -->\n```(?P<language>\w+)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_SEPARATOR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Block:
    """A code block marked as runnable, or as a file that later blocks read."""

    language: str
    code: str
    file: str | None


@dataclass(frozen=True)
class Link:
    text: str
    target: str
    image: bool


def blocks(page: Path) -> list[Block]:
    """The marked blocks of a page, in order."""
    return [
        Block(found["language"], found["code"], found["file"])
        for found in _BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


def links(page: Path) -> list[Link]:
    """Links and pictures outside code."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [Link(m["text"], m["target"], bool(m["image"])) for m in _LINK.finditer(text)]


def anchors(page: Path) -> set[str]:
    """The fragments that headings get: lower case, words joined by hyphens."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def sections(page: Path) -> dict[str, str]:
    """Text below each second-level heading."""
    parts = re.split(r"^## (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text: str) -> list[list[str]]:
    """Cells of every table row, without code marks; the lines of hyphens are left out."""
    found = []
    for line in text.splitlines():
        if line.startswith("|") and not re.fullmatch(r"[|\-: ]+", line):
            cells = _SEPARATOR.split(line.strip())[1:-1]
            found.append([cell.strip() for cell in cells])
    return found


def in_code(cell: str) -> list[str]:
    """What a cell sets in code: ``"`a`, `b`"`` -> ``["a", "b"]``."""
    return re.findall(r"`([^`]+)`", cell)
