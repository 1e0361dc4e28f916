"""`fixpoint`: the command line. Every error that a user can mend is one clear message.

The exit codes are those of `fixpoint exits`; Click's own 2 for a wrong command line is 5 here,
since 2 means a budget that is used up.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import typer

from controller.api.errors import JournalError, NotFoundError, StoreError, UserError
from controller.api.reasons import ExitCode
from controller.cli.exits import INTERRUPTED, exits
from controller.cli.replay import replay
from controller.cli.report import report
from controller.cli.run import run
from controller.cli.terminal import complain
from controller.cli.trace import trace
from controller.cli.verify import verify
from controller.cli.version import version
from controller.cli.watch import watch

app: Final = typer.Typer(
    name="fixpoint",
    help="Research that converges: every statement of a report is a quote that stands, character "
    "for character, in its source; every run ends for a reason; a crash repeats nothing.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)

for command in (run, watch, report, verify, trace, replay, exits, version):
    app.command()(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    try:
        code: int | None = app(
            args=None if arguments is None else list(arguments),
            prog_name="fixpoint",
            standalone_mode=False,
        )
    except typer.TyperException as error:
        return _usage_error(error)
    except (UserError, NotFoundError) as error:
        complain(str(error))
        return ExitCode.CONFIGURATION
    except JournalError as error:
        complain(f"the journal cannot be read: {error.error_class}: {error}")
        return ExitCode.PERSON_NEEDED
    except StoreError as error:
        complain(str(error))
        return ExitCode.PROVIDER
    except KeyboardInterrupt:
        return INTERRUPTED
    return code or ExitCode.GOAL_REACHED


def _usage_error(error: typer.TyperException) -> int:
    """Say what is wrong with the command line, unless it was empty: then the help was shown."""
    context: typer.Context | None = getattr(error, "ctx", None)
    message = error.format_message()
    if message:
        complain(message)
    if message and context is not None:
        sys.stderr.write(f"Try `{context.command_path} --help`.\n")
    return ExitCode.CONFIGURATION


if __name__ == "__main__":
    sys.exit(main())
