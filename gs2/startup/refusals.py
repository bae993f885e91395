"""Where errors end: one line on stderr and an exit code, for everything that is not a bug of ours.

Exit code 2: what was asked for cannot be done as it was asked (a name, a number, a file). Exit code 1: it
could be, but the machine failed (a full disk, no memory). Exit code 130: Ctrl-C. A bug keeps its traceback.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

import click

from games.support.files import DoubleRows, explain_error
from games.support.interruption import INTERRUPTED, Noticed
from gs2.startup.extensions import extending_packages

OUR_PACKAGES = frozenset({"games", "cfr", "blueprint", "gs2"})
"""Packages whose ValueErrors are refusals; those that extend the command line are held to the same."""
INTERRUPTIONS = (INTERRUPTED, 143)
"""Exit codes after Ctrl-C and after a terminate signal."""
FAILURES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
"""Errors of the operating system that are nobody's fault."""
DAMAGED = (json.JSONDecodeError, UnicodeDecodeError, EOFError)
DAMAGED_ELSEWHERE = frozenset({"zipfile", "zlib", "gzip", "struct", "safetensors_rust", "pickle"})
"""Packages whose errors mean that a file is not what it should be."""
SHORTLY = 0.05
"""Seconds after which an interruption that was dropped comes again."""
NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")


class InputError(click.ClickException):
    """Bad input that the library refused: one line, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the message on one line of stderr."""
        click.echo(f"gs2: {' '.join(self.format_message().splitlines())}", file=file or sys.stderr)


class MachineError(InputError):
    """What the machine could not do: one line, exit code 1."""

    exit_code = 1


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what can go wrong outside of our code into one-line errors, and Ctrl-C into exit code 130.

    Whatever was printed is written out before the block ends, so that a full disk is told of too.
    """
    with warnings.catch_warnings(), _heard_while_deleting(), Noticed() as noticed:
        _show_notes()
        try:
            try:
                yield
            except SystemExit:
                sys.stdout.flush()
                raise
            sys.stdout.flush()
        except (KeyboardInterrupt, click.Abort):
            _say("gs2: interrupted")
            raise SystemExit(INTERRUPTED) from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # whoever read our output has seen enough; click ends quietly
            raise _of_system(error) from error
        except MemoryError as error:
            if isinstance(error, ValueError):  # an estimate that refused the work before it began
                raise InputError(str(error)) from error
            raise _no_memory(error) from error
        except RecursionError as error:
            raise MachineError(
                "something is nested too deeply for this program; simplify the input, or name another file"
            ) from error
        except OverflowError as error:
            raise InputError(f"a number is too large ({error}); give a smaller one") from error
        except Exception as error:
            refused = _refused(error)
            interrupted = noticed.came or isinstance(error.__cause__ or error.__context__, KeyboardInterrupt)
            if refused is None and interrupted:
                # Compiled kernels and torch, interrupted as they return, raise errors of their own.
                _say("gs2: interrupted")
                raise SystemExit(INTERRUPTED) from None
            if refused is None:
                raise
            raise refused from error


@contextmanager
def _heard_while_deleting() -> Iterator[None]:
    """Interrupt again where Ctrl-C came while an object was deleted; Python drops it with a traceback."""
    before = sys.unraisablehook

    def lost(what: sys.UnraisableHookArgs) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            main = threading.main_thread().ident  # not at once: in here it would be dropped too
            again = threading.Timer(SHORTLY, signal.pthread_kill, (main, signal.SIGINT))
            again.daemon = True
            again.start()
        else:
            before(what)

    sys.unraisablehook = lost
    try:
        yield
    finally:
        sys.unraisablehook = before


def _refused(error: Exception) -> click.ClickException | None:
    """Return the one-line error for an exception, None for a bug, which is to be seen."""
    if isinstance(error, click.ClickException):
        return None
    if isinstance(error, ValueError) and _raised_by_us(error):
        failed = getattr(error.__cause__, "errno", None) in FAILURES  # a FileProblem says it in our words
        return (MachineError if failed else InputError)(str(error))
    if isinstance(error, DAMAGED) or type(error).__module__.split(".")[0] in DAMAGED_ELSEWHERE:
        return InputError(f"a file is damaged or of another kind ({error}); name another, or make it again")
    if isinstance(error, RuntimeError) and any(words in str(error).lower() for words in NO_MEMORY):
        return _no_memory(error)
    return None


def _of_system(error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return InputError(f"no file {os.fsdecode(error.filename)!r}; check the path")
    return (MachineError if error.errno in FAILURES else InputError)(explain_error(error))


def _no_memory(error: BaseException) -> MachineError:
    detail = str(error).splitlines()[0][:200] if str(error) else "the machine has no more"
    return MachineError(f"not enough memory ({detail}); take a smaller game, or fewer processes")


def _raised_by_us(error: BaseException) -> bool:
    """Return whether one of our packages raised the error itself; anything else is a bug to be seen.

    An error of a class of ours is: of what a worker process raised, the class is all that is left.
    """
    if _ours(type(error).__module__):
        return True
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    names = traceback.tb_frame.f_globals
    spec = names.get("__spec__")  # of a module that is run by itself, which is called __main__
    return _ours(str(names.get("__name__", "") if spec is None else spec.name))


def _ours(module: str) -> bool:
    top = module.split(".")[0]
    return top in OUR_PACKAGES or top in extending_packages()


def _say(text: str) -> None:
    """Write a line on stderr, if anybody can still read it."""
    with suppress(OSError):
        click.echo(text, err=True)


def _show_notes() -> None:
    """Show doubled rows as one line, as every other message; other warnings as they are."""
    show = warnings.showwarning

    def line(message: Any, category: type[Warning], *words: Any, **options: Any) -> None:
        if issubclass(category, DoubleRows):
            _say(f"gs2: {message}")
        else:
            show(message, category, *words, **options)

    warnings.simplefilter("always", DoubleRows)
    warnings.showwarning = line
