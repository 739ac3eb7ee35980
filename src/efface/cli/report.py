"""``efface report``: render a stored report again, without its data."""

from __future__ import annotations

import click
import msgspec

from efface.cli import options


@click.command()
@click.argument("report_json", type=click.Path(), required=False)
@click.option("--html", type=click.Path(), help="Write the HTML page here.")
@click.option("--junit", type=click.Path(), help="Write JUnit XML here.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of a report and stop.")
def report(report_json: str | None, html: str | None, junit: str | None, schema: bool) -> int:
    """Render REPORT_JSON as HTML or JUnit; the exit code is that of its verdict.

    An attribution.json is rendered too: as HTML, with exit code 0.
    """
    from efface.data.atomic import atomic_write
    from efface.report.attribution import is_attribution, says
    from efface.report.gate import exit_code
    from efface.report.schema import json_schema, read

    if schema:
        click.echo(msgspec.json.format(msgspec.json.encode(json_schema()), indent=2).decode())
        return 0
    if report_json is None:
        raise click.UsageError("give a report.json, or --schema")
    targets = [options.writable_file(f) for f in (html, junit) if f is not None]
    if is_attribution(report_json):
        return _attribution(report_json, html, junit)
    if says(report_json).startswith("efface.meter/"):
        raise click.UsageError(
            f"{report_json}: is a reading of the meter: 'efface vault meter --out FOLDER' writes "
            "its page itself, FOLDER/meter.html"
        )
    found = read(report_json)
    if html is not None:
        from efface.report.html import to_html

        with atomic_write(targets[0]) as partial:
            partial.write_text(to_html(found), encoding="utf-8")
    if junit is not None:
        from efface.report.junit import to_junit

        with atomic_write(targets[-1]) as partial:
            partial.write_bytes(to_junit(found))
    click.echo(found.verdict.headline)
    for target in targets:
        click.echo(str(target))
    return exit_code(found)


def _attribution(path: str, html: str | None, junit: str | None) -> int:
    from efface.data.atomic import atomic_write
    from efface.report.attribution import read, to_html

    if junit is not None:
        raise click.UsageError(f"{path}: is an attribution, which has no JUnit: leave --junit out")
    found = read(path)
    click.echo(found.headline)
    if html is not None:
        with atomic_write(html) as partial:
            partial.write_text(to_html(found), encoding="utf-8")
        click.echo(html)
    return 0
