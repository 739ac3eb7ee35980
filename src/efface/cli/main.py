"""``efface``: each command is thin and calls one public function."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from efface._version import __version__
from efface.cli import (
    apply,
    attribute,
    audit,
    catalogue,
    check,
    demo,
    encode,
    export,
    fit,
    inspect,
    models,
    report,
    reproduce,
    serve,
    sign,
    vault,
)
from efface.errors import EffaceError

PASS, GATE_FAILED, BAD_INPUT, INCONCLUSIVE, INTERRUPTED = 0, 1, 2, 3, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="efface")
def cli() -> None:
    """Find the identity left in face representations, take it out, and attack again.

    \b
    Exit codes: 0 pass, 1 gate failed, 2 usage or bad input, 3 inconclusive.
    """


for command in (
    demo.demo, audit.audit, fit.fit, apply.apply, check.check, report.report, reproduce.reproduce,
    catalogue.list_, export.export,
    encode.encode, models.models, attribute.attribute,
    inspect.inspect_, sign.keygen, sign.sign, sign.verify_signature,
    serve.serve, vault.vault,
):  # fmt: skip
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, and turn every expected error into one line and an exit code."""
    sys.exit(invoke(arguments))


def invoke(arguments: Sequence[str] | None = None) -> int:
    try:
        code = cli.main(arguments, prog_name="efface", standalone_mode=False)
        return code if isinstance(code, int) else PASS
    except click.exceptions.Abort:
        return _say("interrupted; no file was left half written", INTERRUPTED)
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except EffaceError as error:
        return _say(f"error: {error}", BAD_INPUT)
    except KeyboardInterrupt:
        return _say("interrupted; no file was left half written", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return PASS
    except Exception as error:  # never Python's own code 1, which here means a failed gate
        if os.environ.get("EFFACE_TRACEBACK"):
            raise
        what = f"{type(error).__name__}: {error}"
        return _say(
            f"error: efface met something it does not know ({what}); set EFFACE_TRACEBACK=1 to "
            "see where, and please report it",
            BAD_INPUT,
        )


def _say(line: str, code: int) -> int:
    click.echo(" ".join(line.split()), err=True)
    return code


if __name__ == "__main__":
    main()
