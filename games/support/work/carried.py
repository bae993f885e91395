"""Files that names hold (checkpoints, FILE.py:NAME), carried to where a piece of work is done.

A machine of a cluster has a disk of its own, on which another file may lie under the same path. So a file
that a name holds is sent with the work, and the name is read there through `name_here`, which refuses a name
that was not sent. A module (MODULE:NAME) is not sent: it must be installed there with the same source.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from games.support.own import is_own
from games.support.work.where import WorkError

ENDS = re.compile(r"[\s:,=+@()]")
"""Where a path may begin or end within a name."""


@dataclass(frozen=True)
class Parcel:
    """What one name needs on another machine.

    name: as it was typed. files: (path within the name, digest) of each file. contents: by digest, the name
    and the bytes of the file and of those that lie beside it. modules: (module, digest of its source).
    """

    name: str
    files: tuple[tuple[str, str], ...]
    contents: dict[str, tuple[tuple[str, bytes], ...]]
    modules: tuple[tuple[str, str], ...]


def files_seen(name: str) -> tuple[tuple[str, int, int], ...]:
    """Return the files of a name with their sizes and times, which tell whether one was replaced."""
    files = [file for text in _paths_in(name) for file in _with_those_beside(Path(text))]
    stats = [(str(file), file.stat()) for file in files if file.is_file()]
    return tuple((text, stat.st_size, stat.st_mtime_ns) for text, stat in stats)


def modules_seen(name: str) -> tuple[tuple[str, str], ...]:
    """Return the modules of a name that are Python source here, each with the digest of its own file."""
    found = []
    for match in re.finditer(r"[^\W\d]\w*(\.[^\W\d]\w*)*(?=:[^\W\d])", name):
        if is_own(name[match.start() :].partition("@")[0].partition(",")[0]):
            source = _module_digest(match[0])
            if source is not None:
                found.append((match[0], source))
    return tuple(found)


def parcel_of(name: str) -> Parcel:
    """Return what a name needs on another machine, read from the disk of this one.

    Raises WorkError for a file that cannot be read.
    """
    files, contents = [], {}
    for text in _paths_in(name):
        parts = _contents(_with_those_beside(Path(text)))
        digest = _digest(parts)
        files.append((text, digest))
        contents[digest] = parts
    return Parcel(name, tuple(files), contents, modules_seen(name))


def _paths_in(name: str) -> list[str]:
    """Return the parts of a name that are files here: the longest first at each place.

    A path has a dot or a separator in it, so that a file called `uniform` does not stand in for the agent.
    """
    found, at = [], 0
    cuts = [0, *(match.end() for match in ENDS.finditer(name))]
    ends = [*(match.start() for match in ENDS.finditer(name)), len(name)]
    for start in cuts:
        if start < at:
            continue
        for end in reversed([end for end in ends if end > start]):
            text = name[start:end]
            if ("." in text or os.sep in text) and _is_file(text):
                found.append(text)
                at = end
                break
    return found


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def _with_those_beside(path: Path) -> list[Path]:
    """Return a file and those that belong to it: x-quick.safetensors belongs to x.safetensors."""
    if not path.suffix:
        return [path]
    return [path, *sorted(path.parent.glob(f"{_plain(path.stem)}-quick{_plain(path.suffix)}"))]


def _contents(files: list[Path]) -> tuple[tuple[str, bytes], ...]:
    try:
        return tuple((file.name, file.read_bytes()) for file in files)
    except OSError as error:
        raise WorkError(f"{files[0]}: a file that the work needs must be readable; {error}") from error


def _plain(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)


def _digest(parts: tuple[tuple[str, bytes], ...]) -> str:
    digest = hashlib.sha256()
    for name, content in parts:
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _module_digest(module: str) -> str | None:
    """Return a digest of a module's source; None if there is no such module of Python source."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()


_names: dict[str, str] | None = None
"""In a process of a cluster, by name as it was typed, the name of the same thing here; elsewhere None."""


def name_here(name: str) -> str:
    """Return the name by which this process finds what `name` means on the machine where it was typed.

    Everywhere but in a cluster's process that is the name itself. Raises WorkError there for a name that was
    not sent.
    """
    if _names is None:
        return name
    if name not in _names:
        raise WorkError(f"{name!r} was not sent to this machine, so that it might mean something else here")
    return _names[name]


def unpack_parcels(parcels: list[Parcel]) -> None:
    """Make the names of parcels mean here what they mean where they come from.

    Raises WorkError for a module that is missing here or differs.
    """
    global _names
    _names = {} if _names is None else _names
    for parcel in parcels:
        for module, digest in parcel.modules:
            if _module_digest(module) != digest:
                raise WorkError(
                    f"{parcel.name!r}: the module {module} must be installed on every machine with the same "
                    "source; name the agent by its file, FILE.py:NAME, which is sent"
                )
        here = parcel.name
        for text, digest in parcel.files:
            here = here.replace(text, str(_written(digest, parcel.contents[digest])), 1)
        _names[parcel.name] = here


_checked: dict[str, Path] = {}


def _written(digest: str, parts: tuple[tuple[str, bytes], ...]) -> Path:
    """Return where the first of some files lies, in a folder of this user's that is named by their digest."""
    if digest in _checked:
        return _checked[digest]
    if _digest(parts) != digest:
        raise WorkError(f"{parts[0][0]}: the file did not arrive as it was sent; run again")
    user = os.getuid() if hasattr(os, "getuid") else "user"
    root = Path(tempfile.gettempdir()) / f"gs2-carried-{user}"
    root.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and (root.stat().st_uid != os.getuid() or root.stat().st_mode & 0o022):
        raise WorkError(f"{root}: the folder for files that are sent must be this user's alone; remove it")
    folder = root / digest[:32]
    if not _holds(folder, parts):
        new = Path(tempfile.mkdtemp(dir=root))
        for name, content in parts:
            (new / name).write_bytes(content)
        try:
            new.rename(folder)
        except OSError:  # another process was faster
            folder = folder if _holds(folder, parts) else new
    _checked[digest] = folder / parts[0][0]
    return _checked[digest]


def _holds(folder: Path, parts: tuple[tuple[str, bytes], ...]) -> bool:
    """Return whether a folder holds these files and no others."""
    try:
        return sorted(os.listdir(folder)) == sorted(name for name, _ in parts) and all(
            (folder / name).read_bytes() == content for name, content in parts
        )
    except OSError:
        return False
