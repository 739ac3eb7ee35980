"""How long a refusal takes to work out, so that it can be sent later than that."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from sqlalchemy import select

from efface.errors import EffaceError
from efface.vault import tables
from efface.vault.configurations import Configuration, Configurations
from efface.vault.store import newest

Timer = Callable[[], float]


def slowest(known: Configurations, timer: Timer = time.perf_counter) -> float:
    """Seconds of a try against nobody, under the slowest configuration that is in use.

    A hash may take longer than any floor, and who has not moved is hashed as long ago: a wrong
    face would then take another time than a name that nobody has.
    """
    return max((_seconds(known, number, timer) for number in _in_use(known)), default=0.0)


def _in_use(known: Configurations) -> set[int]:
    with known.store.begin() as connection:
        people = connection.execute(select(tables.people.c.configuration).distinct())
        return {*people.scalars(), newest(connection)} - {0}


def _seconds(known: Configurations, number: int, timer: Timer) -> float:
    try:
        found = known.get(number)
        _try(found)  # its basis is remembered from here on
        begun = timer()
        _try(found)
    except EffaceError:  # of a pepper that is missing: nobody can be tried
        return 0.0
    return timer() - begun


def _try(found: Configuration) -> None:
    """With as many pictures as a try may have: each costs a hash where they vote."""
    how = found.scheme.hardening
    pictures = max(how.votes, how.of) if how.probes == "vote" else 1
    probe = np.random.default_rng(0).standard_normal((pictures, found.scheme.dim_))
    found.scheme.verify(found.decoy, probe, found.nobody)
