"""How hard a scheme is run: hash, pictures, votes, radius, and one word for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from efface.cli import options
from efface.errors import PlanError

if TYPE_CHECKING:
    from efface.hazmat.derive import KeyDerivation
    from efface.protect.template import Hardening

F = TypeVar("F", bound=Callable[..., Any])
SCHEMES = ("l2fe-hash", "mrp", "facial-fe", "biohash")
PICTURES, RATE = 5, 0.001
"""Of the preset."""


def radius_options(function: F) -> F:
    """A scheme, its parameters and its radius; what a try is; the preset."""
    for option in (
        click.option("--hardened", is_flag=True,
                     help="Argon2id, a bound helper, --fmr 0.001, --images 5; what is given wins."),
        click.option("--votes", type=click.IntRange(1), metavar="K",
                     help="K pictures of a try have to pass, not their mean."),
        click.option("--tries", type=click.IntRange(1), metavar="N",
                     help="Pictures of a try; as many as --images by default."),
        click.option("--fmr", type=click.FloatRange(0, 1, min_open=True, max_open=True),
                     help="Choose the radius that accepts other people at this rate."),
        click.option("--param", "params", metavar="NAME=VALUE", multiple=True,
                     help="Parameter of the scheme; may be repeated."),
        click.option("--scheme", type=click.Choice(SCHEMES), default="l2fe-hash",
                     show_default=True, help="How templates are made."),
    ):  # fmt: skip
        function = option(function)
    return function


def hash_options(function: F) -> F:
    """What hashes the record, and at what cost."""
    for option in (
        click.option("--lanes", type=click.IntRange(1), default=4, show_default=True,
                     help="Lanes of Argon2id."),
        click.option("--passes", type=click.IntRange(1), default=3, show_default=True,
                     help="Passes of Argon2id."),
        click.option("--memory", type=click.IntRange(8), default=65536, show_default=True,
                     help="KiB of Argon2id, for each guess and each login."),
        click.option("--kdf", type=click.Choice(("blake2b", "argon2id")), default="blake2b",
                     show_default=True, help="What hashes the record."),
    ):  # fmt: skip
        function = option(function)
    return function


def settled(typed: dict[str, Any]) -> dict[str, Any]:
    """What was typed, with what the preset says of the rest."""
    found = dict(typed)
    if typed["hardened"]:
        preset = {"kdf": "argon2id", "fmr": RATE, "images": PICTURES}
        found |= {name: value for name, value in preset.items() if not options.given(name)}
    found["tries"] = typed["tries"] or found["images"]
    if (typed["votes"] or 1) > found["tries"]:
        raise click.UsageError(
            f"--votes {typed['votes']} of a try of {found['tries']}: give --tries or --images, as "
            "many or more"
        )
    return found


def hardening(typed: dict[str, Any], pepper: bytes | None = None) -> Hardening:
    """Of settled words."""
    from efface.protect.template import Hardening

    votes = typed["votes"]
    policy: dict[str, Any] = (
        {"probes": "vote", "votes": votes, "of": typed["tries"]} if votes else {}
    )
    return Hardening(kdf=kdf(typed), pepper=pepper, bind=typed["hardened"], **policy)


def kdf(typed: dict[str, Any]) -> KeyDerivation:
    from efface.protect.template import Argon2id, Blake2b

    if typed["kdf"] == "blake2b":
        return Blake2b()
    cost = {name: typed[name] for name in ("passes", "lanes") if name in typed}
    return Argon2id(memory_kib=typed["memory"], **cost) if "memory" in typed else Argon2id()


def parameters(words: Sequence[str]) -> dict[str, int | float]:
    """``name=number`` words as keyword arguments."""
    return dict(_parameter(word) for word in words)


def _parameter(word: str) -> tuple[str, int | float]:
    name, _, value = word.partition("=")
    for kind in (int, float):
        try:
            return name.strip(), kind(value)
        except ValueError:
            continue
    raise PlanError(f"--param {word}: write it as NAME=NUMBER, for example scale=0.0014")
