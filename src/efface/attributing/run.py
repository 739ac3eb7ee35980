"""``efface.attribution``: is it the face or its surroundings that similarities come from?"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from efface._version import __version__
from efface.attributing import sentences
from efface.attributing.cosines import Roles, roles
from efface.attributing.drawing import Plan, coverage_gap, draw_queries
from efface.attributing.encode import context_key, encode_all
from efface.attributing.examples import examples
from efface.attributing.findings import findings
from efface.attributing.lens import FaceInput
from efface.attributing.material import Material, spread
from efface.attributing.rendered import rendered_material
from efface.attributing.seats import Given, Projectors, Seat, give_projectors, seats
from efface.attributing.settings import Settings
from efface.attributing.stimuli import Tell
from efface.attributing.survey import Finder, Look, survey
from efface.attributing.swaps import Swap
from efface.attributing.vectors import Swaps
from efface.attributions import SCHEMA, Attribution, Drawn, View
from efface.data.rendered.world import Triplets
from efface.faces.annulus import equal_area_annuli
from efface.faces.face import Outcome
from efface.faces.mask import face_runs
from efface.measure.means import Clusters, share
from efface.pictures.decode import Limits
from efface.pictures.entry import Source
from efface.pictures.source import open_source
from efface.results import Scalar
from efface.stores import disk
from efface.stores.lock import locked

_VIEWED = 200
"""Queries on which it is measured how much of face and ring an encoder sees."""
_EXAMPLES = 3


def attribution(
    images: str | Path | Source | Triplets,
    encoders: Sequence[Given],
    *,
    projectors: Projectors = (),
    settings: Settings | None = None,
    face: FaceInput = "auto",
    finder: Finder | None = None,
    limits: Limits | None = None,
    swap: Swap | None = None,
    cache: str | Path | None = None,
    workers: int = 1,
    show_pictures: bool = False,
    tell: Tell | None = None,
    command: str = "",
    date: str = "",
) -> Attribution:
    """FII, CPI and B* of every encoder, raw and through its projectors, with intervals over people.

    ``images`` is a folder, a CSV list or tar archives, or rendered triplets, whose truth is exact.
    ``cache`` is a folder of crops and vectors: what is there is neither looked at nor encoded
    again. Pictures appear in the result only if ``show_pictures`` says so, or they are rendered.
    """
    settings, swap, tell = settings or Settings(), swap or Swap(), tell or _silent
    finder = finder or Finder()
    swap.check()
    with ExitStack() as stack:
        place = Path(cache or stack.enter_context(tempfile.TemporaryDirectory()))
        _lock(place, stack)
        to = seats(encoders, face, place)
        give_projectors(to, projectors)
        material, plan = _material(images, settings, finder, limits, swap, place, workers, tell)
        known = Swaps(place)
        encode_all(material, plan, to, settings, swap, known, workers, tell)
        played = roles(material, plan, swap, known)
        found = [one for seat in to for one in findings(material, plan, seat, played, settings)]
        shown = _EXAMPLES if show_pictures or material.rendered else 0
        summary = material.summary()
        return Attribution(
            schema=SCHEMA, headline=sentences.overall(found),
            sentences=sentences.explained(found), pictures=summary,
            geometry=material.geometry(settings),
            drawn=_drawn(material, plan, played, swap, known, settings),
            views=[_view(material, plan, seat) for seat in to], findings=found,
            examples=examples(material, plan, settings, swap, shown),
            not_tested=sentences.not_tested(summary.kind, plan.context),
            settings=_told(settings, finder, swap), seed=settings.seed,
            bootstrap=settings.bootstrap, level=settings.level, efface=__version__,
            versions=_versions(), command=command, date=date,
        )  # fmt: skip


def _material(
    images: str | Path | Source | Triplets, settings: Settings, finder: Finder,
    limits: Limits | None, swap: Swap, place: Path, workers: int, tell: Tell,
) -> tuple[Material, Plan]:  # fmt: skip
    """Crops, and who is compared with whom."""
    if isinstance(images, Triplets):
        return rendered_material(images, settings, place)
    source = open_source(images) if isinstance(images, str | Path) else images
    finder.check()
    look = Look(finder, settings, limits or Limits())
    material = survey(source, look, place, workers, tell)
    return material, draw_queries(material, settings, swap.name)


def _lock(place: Path, stack: ExitStack) -> None:
    """The cache, written by this run alone."""
    with disk.writing(place):
        place.mkdir(parents=True, exist_ok=True)
        lock = None
        while lock is None:
            lock = locked(place / "lock", place)
    stack.callback(lock.release)


def _drawn(
    material: Material, plan: Plan, played: Roles, swap: Swap, known: Swaps, settings: Settings
) -> Drawn:
    """From queries to pairs and triplets, with what was lost on the way and why."""
    queries = plan.queries
    tried = [q for q in queries if not q.ready]
    became = [known.held[context_key(material, (q.query, q.other), swap)] for q in tried]
    good = np.array([outcome == Outcome.ONE.value for outcome, _ in became], np.float64)
    people = np.array([q.person for q in (tried or queries)])
    rng = np.random.default_rng([settings.seed, 4])
    clusters = Clusters.of(people, settings.bootstrap, rng, settings.level)
    lost = Counter(f"swap: {outcome}" for outcome, _ in became if outcome != Outcome.ONE.value)
    unequal = int((~played.pair).sum())
    return Drawn(
        rule=plan.rule, context_match=plan.context, people=len({q.person for q in queries}),
        lone=plan.lone, passed_over=dict(plan.passed.most_common()), queries=len(queries),
        pairs=int(played.pair.sum()), triplets=int(played.triplet.sum()),
        lost_pairs={"ring not as large as the face": unequal} if unequal else {},
        lost_triplets=dict(lost),
        swap_success=share(good if tried else np.ones(len(queries)), clusters),
        swap_covered=spread([covered for _, covered in became]),
        coverage_difference=spread([coverage_gap(material, q.query, q.match) for q in queries]),
    )  # fmt: skip


def _view(material: Material, plan: Plan, seat: Seat) -> View:
    """How much of face and ring gets through the encoder's lens, over the first queries."""
    shares = []
    for query in plan.queries[: _VIEWED if seat.lens.seen != "crop" else 0]:
        place = material.place(query.query)
        crop, face = place.pixels(), place.face
        runs = face_runs(face.landmarks[None], crop.shape[:2])
        masks = np.concatenate([runs.masks(), equal_area_annuli(runs).masks])
        shares.append(seat.lens.shares(masks, face, crop))
    seen = np.mean(shares, axis=0) if shares else np.ones(2)
    return View(
        name=seat.name, facts=seat.encoder.facts, seen=seat.lens.seen, face_seen=float(seen[0]),
        ring_seen=float(seen[1]), encoded=seat.encoded, remembered=seat.remembered,
    )  # fmt: skip


def _told(settings: Settings, finder: Finder, swap: Swap) -> dict[str, Scalar]:
    """Every choice, as plain values."""
    plain: dict[str, Scalar] = {
        name: value if not isinstance(value, tuple) else ", ".join(f"{v:g}" for v in value)
        for name, value in vars(settings).items()
    }
    return {**plain, "policy": finder.policy, "swap": swap.name, "swap_weights": swap.digest}


def _versions() -> dict[str, str]:
    import importlib.metadata

    return {name: importlib.metadata.version(name) for name in ("numpy", "scipy")}


def _silent(stage: str, done: int, total: int) -> None:
    return None
