"""``efface audit``: attack, protect, attack again, report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from efface.cli import encoded, encoding, options
from efface.cli.options import METHODS, Rank, data_options, given, seed_option
from efface.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from efface.auditing.plan import AuditPlan
    from efface.export.safetensors import Projector
    from efface.results import Report
    from efface.types import Samples, Split


@click.command()
@click.argument("emb", type=click.Path())
@data_options
@click.option("--protect", multiple=True, type=click.Choice(METHODS), help="Eraser to fit; repeat.")
@click.option(
    "--rank", type=Rank(), default="auto", show_default=True, help="Directions to remove."
)
@click.option("--coverage", type=float, help="With --rank auto: cover this share of the energy.")
@click.option("--projector", multiple=True, type=click.Path(), help="Stored projector; repeat.")
@click.option(
    "--unseen", is_flag=True, help="Vouch that --projector was fitted on none of these people."
)
@click.option("--far", type=float, default=1e-3, show_default=True, help="False-accept rate.")
@click.option("--mode", type=click.Choice(["strong", "paper"]), default="strong", show_default=True)
@click.option("--attack", multiple=True, help="Attacker to run; repeat. Default: all.")
@options.selection_options
@click.option("--split-column", metavar="COL", help="Column with fit, shadow, calibration, test.")
@click.option("--plan", type=click.Path(), help="TOML plan; options typed here win over it.")
@click.option("--fail-above", type=float, help="Gate: worst-case TAR that must not be exceeded.")
@click.option("--target", type=float, help="Worst-case TAR that --rank auto aims at.")
@click.option("--utility", type=click.Path(), help="Labelled vectors that are not faces.")
@click.option("--label", default="label", show_default=True, help="Class column of --utility.")
@click.option("--copies", type=click.Path(), help="Vectors of originals and edited copies.")
@click.option(
    "--original",
    default="original",
    show_default=True,
    help="Column of --copies that numbers the original; column 'edit' says which edit.",
)
@click.option("--transfer", type=click.Path(), help="A second data set, same encoder.")
@click.option(
    "--sweep",
    type=click.Choice(["all", "rank", "people", "none"]),
    default="all",
    show_default=True,
    help="Sweeps to run in strong mode.",
)
@click.option("--bootstrap", type=int, default=2000, show_default=True, help="Resamples of people.")
@seed_option
@click.option("--cache", type=click.Path(), help="Folder for measurements already made.")
@click.option("--out", type=click.Path(), default="efface-report", show_default=True)
@click.option("--date", default="", help="Date to print in the report; by default none.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option(
    "--encoder", metavar="ENCODER", help="EMB holds pictures: encode them first, by this."
)
@encoding.declaration_options
@encoding.face_options
@encoding.place_options
@encoding.work_options
@options.quiet_warnings
def audit(emb: str, **given_: Any) -> int:
    """Audit the embeddings in EMB: .npz, .npy with CSV, Parquet or Arrow.

    With --encoder EMB is pictures, as 'efface encode' takes them: they are encoded first, into the
    --out folder, where the next run finds them. The options from --encoder on are about that.

    Attacks the vectors as they are and, with --protect or --projector, as they would ship.
    Writes report.json, report.html and report.junit.xml into the --out folder.
    """
    from efface import api
    from efface.auditing.plan import AuditPlan, read_plan
    from efface.export.safetensors import read_projector
    from efface.report.gate import exit_code
    from efface.report.schema import to_json

    out = options.writable_folder(given_["out"])
    plan = _merged(read_plan(given_["plan"]) if given_["plan"] else AuditPlan(), given_)
    projectors = {path: read_projector(path) for path in given_["projector"]}
    everything = _everything(emb, out, plan, given_)
    for path, projector in projectors.items():
        _same_encoder(path, projector, everything)
    with encoded.keeping(out if given_["encoder"] else None):
        samples = _curated(everything, plan, given_)
        protections = [*plan.protections(), *(p.eraser for p in projectors.values())]
        result = api.audit(
            samples,
            split=_split(samples, plan),
            protections=protections,
            attacks=plan.attacks(),
            far=plan.far,
            mode=plan.mode,
            shots=plan.shots,
            resamples=plan.resamples,
            quota=plan.quota,
            seed=plan.seed,
            fail_above=plan.fail_above,
            target=plan.target,
            auto=plan.auto,
            sweep=plan.sweep,
            utility=_utility(given_),
            transfer=_transfer(given_, plan),
            bootstrap=plan.bootstrap,
            level=plan.level,
            cache=given_["cache"],
            unseen=given_["unseen"],
            drawn_from=everything,
            command=options.command_line(),
            date=given_["date"],
            plan=msgspec.to_builtins(plan) if given_["plan"] else None,
        )
    result.save(out)
    if given_["as_json"]:
        click.echo(to_json(result).decode(), nl=False)
    else:
        _print(result, str(out))
    return exit_code(result)


def _everything(emb: str, out: Path, plan: AuditPlan, typed: dict[str, Any]) -> Samples:
    """Vectors as they are stored, or those of pictures, which are kept beside the report."""
    encoded.check_kind(emb, typed["encoder"])
    if not typed["encoder"]:
        return options.read(emb, plan.identity, plan.embedding, typed["labels"])
    vectors = encoded.kept(emb, out, {**typed, "identity": plan.identity}, _gate(plan))
    return options.read(str(vectors), "identity", None, None, encoded.dataset(emb))


def _gate(plan: AuditPlan) -> Callable[[int], None] | None:
    """To encode may take hours: whether so many people can ever pass the gate is said before."""
    from efface.auditing.hopeless import warn_if_hopeless

    share = plan.split.test
    if plan.fail_above is None or plan.split.column is not None:
        return None

    def look(people: int) -> None:
        tested = share if isinstance(share, int) else round(share * people)
        warn_if_hopeless("the gate", plan.fail_above, tested, plan.level, "test")

    return look


def _same_encoder(path: str, projector: Projector, samples: Samples) -> None:
    """Vectors of one length may be of two networks: where both are known, they have to agree."""
    fitted, made = projector.fitting.encoder, samples.encoding
    if fitted is None or fitted.weights is None or made is None:
        return
    if fitted.weights != made.encoder.weights:
        raise PlanError(
            f"{path}: was fitted on vectors of an encoder with SHA-256 {fitted.weights[:16]}…, "
            f"those of {samples.dataset} were made by {made.encoder.name} with "
            f"{made.encoder.weights[:16]}…: give the projector of this encoder"
        )


def _merged(plan: AuditPlan, typed: dict[str, Any]) -> AuditPlan:
    """The plan with what was typed on top."""
    changes: dict[str, Any] = {}
    for name in ("identity", "embedding", "far", "mode", "images", "min_images", "fail_above",
                 "target", "bootstrap", "seed"):  # fmt: skip
        if given(name):
            changes[name] = typed[name]
    if given("sweep"):
        changes["sweep"] = {"all": ("rank", "people"), "none": ()}.get(
            typed["sweep"], (typed["sweep"],)
        )
    if typed["attack"]:
        changes["attack"] = [{"name": name} for name in typed["attack"]]
    if given("split_column"):
        changes["split"] = msgspec.structs.replace(plan.split, column=typed["split_column"])
    if typed["coverage"] is not None:
        changes["auto"] = "coverage"
    extra = {"rank": typed["rank"]}
    if typed["coverage"] is not None:
        extra["coverage"] = typed["coverage"]
    if typed["protect"]:
        changes["protect"] = [{"name": name, **extra} for name in typed["protect"]]
    elif (given("rank") or typed["coverage"] is not None) and not plan.protect:
        raise PlanError("--rank and --coverage go with --protect")
    return msgspec.structs.replace(plan, **changes)


def _curated(samples: Samples, plan: AuditPlan, typed: dict[str, Any]) -> Samples:
    return options.select(samples, plan.images, plan.min_images, plan.seed, typed["as_json"])


def _split(samples: Samples, plan: AuditPlan) -> Split | None:
    from efface.auditing.plan import SplitPlan
    from efface.data.splits import split, split_by_column

    part = plan.split
    if part.column is not None:
        return split_by_column(samples, part.column)
    if part == SplitPlan():
        return None
    return split(
        samples, fit=part.fit, shadow=part.shadow, calibration=part.calibration, test=part.test,
        seed=plan.seed,
    )  # fmt: skip


def _utility(typed: dict[str, Any]) -> list[Samples]:
    sets = []
    if typed["utility"]:
        sets.append(options.read(typed["utility"], typed["label"], typed["embedding"], None))
    if typed["copies"]:
        copies = options.read(typed["copies"], typed["original"], typed["embedding"], None)
        if "edit" not in copies.attributes:
            raise PlanError(
                f"{typed['copies']}: copies need a column 'edit' that says 'original' for the "
                "originals and names the edit elsewhere"
            )
        sets.append(copies)
    return sets


def _transfer(typed: dict[str, Any], plan: AuditPlan) -> Samples | None:
    if not typed["transfer"]:
        return None
    other = options.read(typed["transfer"], plan.identity, plan.embedding, None)
    return _curated(other, plan, typed)


def _print(result: Report, out: str) -> None:
    click.echo(result.verdict.headline)
    click.echo()
    for worst in result.worst_cases:
        who = f"  by {worst.attacker}" if worst.attacker else f"  ({worst.note})"
        click.echo(f"  {worst.release:<14} worst-case TAR {worst.tar}{who}")
    click.echo()
    for release in result.releases:
        if release.identities_recognised is not None:
            click.echo(
                f"  {release.name:<14} recognised {release.identities_recognised} of "
                f"{release.identities_fitted} people it was fitted on; new to it: {release.unseen}"
            )
    for release in result.releases:
        for line in release.warnings:
            click.echo(f"warning: {release.name}: {line}", err=True)
    click.echo(f"{out}/report.html  report.json  report.junit.xml")
