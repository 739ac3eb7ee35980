"""Who is on a picture: told from its folder, its name, a pattern, or what stands beside it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from efface.errors import DataError

By = Literal["auto", "folder", "lfw", "pattern", "label", "column"]
_LFW = re.compile(r"^(?P<identity>.+)_\d+$")


@dataclass(frozen=True)
class Rule:
    """From a path with slashes, relative to the source, to a label; "" where it shows none."""

    by: By
    pattern: re.Pattern[str] | None = None
    group: str | int = "identity"

    def identity(self, path: str) -> str:
        folder, _, file = path.rpartition("/")
        if self.by == "folder":
            return clean(folder.rpartition("/")[2])
        searched = _LFW.search(file.rpartition(".")[0]) if self.by == "lfw" else None
        if self.pattern is not None:
            searched = self.pattern.search(path)
        return clean(searched[self.group] or "") if searched else ""

    @property
    def words(self) -> str:
        return {
            "folder": "the folder a picture is in",
            "lfw": "the file name without its last number",
            "pattern": f"the pattern {self.pattern.pattern if self.pattern else ''}",
            "label": "the label beside a picture in its archive",
            "column": "a column of the list",
            "auto": "to be found",
        }[self.by]

    @property
    def problem(self) -> str:
        """Why a picture shows no identity under this rule."""
        return {
            "folder": "lies in no folder that names its person",
            "lfw": "its name does not end in _ and a number",
            "pattern": "does not match the pattern",
            "label": "the archive holds no label for it",
        }.get(self.by, "no identity is given")


def rule(by: By, pattern: str | None) -> Rule:
    """A rule as asked for; a pattern needs a group named ``identity``, or exactly one group."""
    if pattern is None:
        if by == "pattern":
            raise DataError("--identity-by pattern needs --pattern REGEX")
        return Rule(by)
    if by not in ("auto", "pattern"):
        raise DataError(f"a pattern tells identities, and so does --identity-by {by}: give one")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise DataError(f"pattern {pattern!r}: {error}: correct the regular expression") from error
    if "identity" not in compiled.groupindex and compiled.groups != 1:
        raise DataError(
            f"pattern {pattern!r}: name the part that is the person, as in (?P<identity>[^/]+)"
        )
    return Rule("pattern", compiled, "identity" if "identity" in compiled.groupindex else 1)


def settled(wanted: Rule, sample: list[str], place: str) -> Rule:
    """For ``auto``: folders if the first pictures are in some, else names as in LFW."""
    if wanted.by != "auto":
        return wanted
    if any("/" in path for path in sample):
        return Rule("folder")
    lfw = Rule("lfw")
    if sample and all(lfw.identity(path) for path in sample):
        return lfw
    raise DataError(
        f"{place}: pictures lie side by side, and their names do not end in _ and a number: say "
        "who is who with --pattern, as in --pattern '(?P<identity>[^-]+)-', or with a CSV list"
    )


def clean(label: str) -> str:
    """One spelling for one name: composed letters (a folder from macOS has others), no margins."""
    return unicodedata.normalize("NFC", label).strip()
