"""Files that survive failures: written whole or not at all, appended line by line, regular files only.

Three ways to write: `replacing` puts a whole file in the place of another, `create` begins one that must not
exist, and `LineFile` appends lines under a lock. All of them refuse a place that they could not
write to before any work is done. So do `check_output` and `check_folder`, which a command calls first.
"""

from __future__ import annotations

import errno
import itertools
import os
import platform
import stat
import tempfile
import warnings
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeVar

from games.support.locks import hold

PROBE = b"\0" * 4096
"""Written and deleted again, to find out whether a folder has room and may be written to."""
NEXT_STEPS = {
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "a part of the path is a file; check it",
    errno.EISDIR: "a file is wanted, this is a folder; name a file in it",
    errno.EACCES: "its permissions forbid it; choose another place or change them",
    errno.EPERM: "its permissions forbid it; choose another place or change them",
    errno.EROFS: "the file system is read-only; choose another place",
    errno.ENOSPC: "the disk is full; make room or choose another place",
    errno.EDQUOT: "your share of the disk is full; make room or choose another place",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
    errno.ELOOP: "symbolic links lead in a circle; check the path",
    errno.EEXIST: "name another one",
    errno.EINVAL: "no file can have this name; choose another",
}
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)
_numbers = itertools.count()
Row = TypeVar("Row")


class FileProblem(ValueError):
    """A file that cannot be read or written: which one, why, and what to do."""


class DoubleRows(UserWarning):
    """Rows that came more than once in a file of results and were counted once."""


def explain_error(error: OSError, path: str | os.PathLike[str] | None = None) -> str:
    """Return what went wrong with a file, in one line: file, reason, next step."""
    name = path if path is not None else error.filename
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    step = NEXT_STEPS.get(error.errno or 0)
    where = "" if name is None else f"{_shown(name)}: "
    return f"{where}{reason}" + (f"; {step}" if step else "")


@contextmanager
def _told(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the operating system into a FileProblem that names the file."""
    try:
        yield
    except OSError as error:
        raise FileProblem(explain_error(error, path)) from error
    except ValueError as error:
        if isinstance(error, FileProblem):
            raise
        raise FileProblem(f"{_shown(path)}: no file can have this name ({error}); choose another") from error


def _shown(path: Any) -> str:
    """Return a path as it is shown in a message: on one line, and not endlessly long."""
    text = printable(os.fspath(path) if not isinstance(path, str | int) else str(path))
    return text if len(text) <= 200 else f"{text[:97]}…{text[-97:]}"


def printable(text: str) -> str:
    """Return a text that another program may have written, without what would move a terminal's cursor."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _check_regular(path: str | os.PathLike[str], mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((words for is_kind, words in KINDS if is_kind(mode)), "none")
        raise FileProblem(f"{_shown(path)}: must be a regular file; it is {kind}; name one")


def check_output(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file, once it is known that it can be written.

    A file in the same folder is written and deleted to find out; nothing is left behind.
    Raises FileProblem for an empty or too long name, a folder, a device or pipe, a folder that is missing,
    may not be written to, or lies on a full disk, and for a file that is there but may not be written to.
    """
    if os.fspath(path) in ("", "."):
        raise FileProblem("an output must be a file; got an empty name, or this folder; name one")
    with _told(path):
        target = Path(os.path.realpath(path))
        try:
            found: os.stat_result | None = os.stat(target)
        except FileNotFoundError:
            found = None
        if found is not None:
            _check_regular(path, found.st_mode)
        if found is not None and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if not target.parent.is_dir():
            raise FileProblem(f"{_shown(path)}: its folder must exist; create {_shown(target.parent)}")
        if len(os.fsencode(target.name)) > 255:  # not every file system says so before the file is made
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        _probe(target.parent)
    return Path(path)


def check_folder(path: str | os.PathLike[str], *, create: bool = True) -> Path:
    """Return a folder, once it is known that files can be written in it.

    create: make it if it is missing.
    Raises FileProblem for an empty name, something that is not a folder, or one that cannot be written to.
    """
    if os.fspath(path) == "":
        raise FileProblem("an output must have a name; got an empty one; name a folder")
    with _told(path):
        folder = Path(path)
        if folder.exists() and not folder.is_dir():
            raise FileProblem(f"{_shown(path)}: must be a folder; it is a file; name another")
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        else:
            while not folder.exists():
                folder = folder.parent
        _probe(folder)
    return Path(path)


def _probe(folder: Path) -> None:
    handle, name = tempfile.mkstemp(prefix=".probe-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(PROBE)
            file.flush()
            os.fsync(file.fileno())
    finally:
        os.unlink(name)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a new binary file that takes the place of `path` when the block ends, and not if it fails.

    At every moment the file at `path` is whole: the old one or the new one, also after a kill or a power
    cut. A new file has the permissions that any program's would have, a replaced one keeps its own.
    Raises FileProblem as `check_output`, and if the disk is full.
    """
    with _told(path):
        target = Path(os.path.realpath(path))
        mode = _mode_of(path, target)
        temporary = _temporary(target)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        file = os.fdopen(handle, "wb")
        try:
            yield file
            with _told(path):
                file.flush()
                if mode is not None:
                    os.chmod(temporary, mode)
                os.fsync(file.fileno())
        except OSError as error:
            raise FileProblem(explain_error(error, path)) from error
        finally:
            with suppress(OSError):  # what is left to write is lost with the file
                file.close()
        with _told(path):
            os.replace(temporary, target)
            _sync_folder(target.parent)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _mode_of(path: str | os.PathLike[str], target: Path) -> int | None:
    """Return the permissions of the file that is to be replaced; None if there is none."""
    try:
        found = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    _check_regular(path, found)
    return stat.S_IMODE(found)


def _temporary(target: Path) -> Path:
    """Return a new name beside a file, after deleting what killed writers of this machine left there."""
    host = zlib.crc32(platform.node().encode())
    start = f".{target.name[:40]}.{host:08x}-"
    with suppress(OSError):
        for name in os.listdir(target.parent):
            if name.startswith(start) and name.endswith(".part"):
                owner = name[len(start) :].split("-")[0]
                if owner.isdigit() and int(owner) != os.getpid() and not _alive(int(owner)):
                    (target.parent / name).unlink(missing_ok=True)
    return target.parent / f"{start}{os.getpid()}-{next(_numbers)}.part"


def _alive(process: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system can be asked to."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Put a whole file at `path` (see `replacing`)."""
    with replacing(path) as file:
        file.write(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Put a whole file of UTF-8 text at `path` (see `replacing`)."""
    write_bytes(path, text.encode())


def create(path: str | os.PathLike[str]) -> TextIO:
    """Return a new text file, open for writing; one that exists is never touched.

    Raises FileProblem if there is one already, and as `check_output`.
    """
    with _told(path):
        check_output(path)
        return open(path, "x", encoding="utf-8")


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Return a file open for reading, if it is a regular one: a pipe would wait, a device never end.

    Raises FileNotFoundError if there is none, FileProblem if it is something else or may not be read.
    """
    if os.fspath(path) == "":
        raise FileProblem("a file must have a name; got an empty one; name a file")
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise
    except (OSError, ValueError):
        with _told(path):
            raise
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
    _check_regular(path, mode)
    return os.fdopen(handle, "rb")


def read_bytes(path: str | os.PathLike[str], *, most: int | None = None) -> bytes:
    """Return what a regular file holds. most: bytes that it may have.

    Raises as `open_regular`, FileProblem if it has more.
    """
    with open_regular(path) as file, _told(path):
        size = os.fstat(file.fileno()).st_size
        if most is not None and size > most:
            raise FileProblem(
                f"{_shown(path)}: must have at most {most:,} bytes; it has {size:,}; name another file"
            )
        return file.read() if most is None else file.read(most)


def read_text(path: str | os.PathLike[str], *, most: int | None = None) -> str:
    """Return the UTF-8 text of a regular file. Raises as `read_bytes`, FileProblem if it is no text."""
    data = read_bytes(path, most=most)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FileProblem(f"{_shown(path)}: must be UTF-8 text; {error}; name another file") from error


class LineFile:
    """A file of lines that one process at a time appends to, under a lock. Use it in a `with` block.

    path: made if it is missing, at the first line appended. lines: the whole ones it held when it was opened.
    tail: what stood behind the last of them, a line that a kill cut short; the first line appended takes its
    place.
    Raises FileProblem as `check_output`, LockHeld if another process appends to it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = check_output(path)
        self._held = hold(self.path)
        try:
            data = read_bytes(self.path) if self.path.exists() else b""
            self._size = data.rfind(b"\n") + 1
            self.lines = data[: self._size].split(b"\n")[:-1]
            self.tail = data[self._size :]
            self._file: BinaryIO | None = None
        except BaseException:
            self._held.close()
            raise

    def append(self, lines: Iterable[str]) -> None:
        """Add whole lines (given without their ends) and have them on the disk before returning.

        Raises FileProblem if they cannot be written; then none of them is in the file.
        """
        data = "".join(line + "\n" for line in lines).encode()
        if not data:
            return
        with _told(self.path):
            if self._file is None:
                self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115
                os.ftruncate(self._file.fileno(), self._size)
            handle = self._file.fileno()
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(handle, left) :]
                os.fsync(handle)
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(handle, self._size)
                raise
        self._size += len(data)

    def close(self) -> None:
        """Close the file and release the lock."""
        if self._file is not None:
            self._file.close()
        self._held.close()

    def __enter__(self) -> LineFile:
        """Return the file."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the file."""
        self.close()


def unique(rows: Iterable[Row], key: Callable[[Row], Hashable], path: str | os.PathLike[str]) -> list[Row]:
    """Return the first row of each key, in order; warn with DoubleRows if others were dropped."""
    found: dict[Hashable, Row] = {}
    count = 0
    for row in rows:
        count += 1
        found.setdefault(key(row), row)
    if count > len(found):
        warnings.warn(
            f"{_shown(path)}: {count - len(found)} of {count} rows come again and were left out; "
            "the first of each counts",
            DoubleRows,
            stacklevel=2,
        )
    return list(found.values())
