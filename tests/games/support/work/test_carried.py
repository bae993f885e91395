"""Files that names hold, as they arrive where a piece of work is done."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.support.work import carried
from games.support.work.carried import files_seen, name_here, parcel_of, unpack_parcels
from games.support.work.where import WorkError
from tests.patience import amount


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Another machine's folder for temporary files; names are unpacked there."""
    monkeypatch.setattr(carried, "_names", None)
    monkeypatch.setattr(carried, "_checked", {})
    monkeypatch.setattr(carried.tempfile, "gettempdir", lambda: str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere"


def test_a_checkpoint_arrives_with_the_quick_network_beside_it(elsewhere: Path, tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(b"weights")
    (tmp_path / "x-quick.safetensors").write_bytes(b"quick")
    (tmp_path / "x-other.safetensors").write_bytes(b"other")
    name = f"gs2-fast:worlds=64,deadline=60@{tmp_path / 'x.safetensors'}"
    unpack_parcels([parcel_of(name)])
    head, _, path = name_here(name).partition("@")
    assert head == "gs2-fast:worlds=64,deadline=60" and Path(path).is_relative_to(elsewhere)
    assert Path(path).read_bytes() == b"weights"
    assert sorted(file.name for file in Path(path).parent.iterdir()) == [
        "x-quick.safetensors",
        "x.safetensors",
    ]


def test_a_name_is_itself_and_refused_where_it_was_not_sent(
    elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert name_here("gs2-fast@x.safetensors") == "gs2-fast@x.safetensors"  # where it was typed
    monkeypatch.chdir(tmp_path)
    Path("uniform").write_text("a file called like an agent, which does not stand in for it")
    unpack_parcels([parcel_of("uniform")])
    assert name_here("uniform") == "uniform"
    with pytest.raises(WorkError, match="'strong' was not sent"):
        name_here("strong")


def test_an_own_agent_arrives_by_its_file_and_a_module_must_be_there_already(
    elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("class Agent: pass\n")
    Path("mine_installed.py").write_text("class Agent: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    parcel = parcel_of("mine_installed:Agent")
    unpack_parcels([parcel_of("mine.py:Agent"), parcel])
    assert name_here("mine.py:Agent").endswith("/mine.py:Agent") and name_here("mine.py:Agent")[0] == "/"
    assert name_here("mine_installed:Agent") == "mine_installed:Agent"
    Path("mine_installed.py").write_text("class Agent: changed = 1\n")
    with pytest.raises(WorkError, match="the module mine_installed must be installed on every machine"):
        unpack_parcels([parcel])


def test_a_file_that_changes_is_seen_to(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"one")
    seen = files_seen(str(path))
    assert len(seen) == 1 and files_seen(str(path)) == seen
    path.write_bytes(b"another")
    assert files_seen(str(path)) != seen


def test_what_was_planted_under_a_digest_is_replaced_and_a_folder_that_others_may_write_refused(
    elsewhere: Path, tmp_path: Path
) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"weights")
    parcel = parcel_of(str(path))
    root = elsewhere / f"gs2-carried-{os.getuid()}"
    planted = root / parcel.files[0][1][:32]
    planted.mkdir(parents=True, mode=0o700)
    (planted / "x.safetensors").write_bytes(b"planted")
    root.chmod(0o777)
    with pytest.raises(WorkError, match="this user's alone"):
        unpack_parcels([parcel])
    root.chmod(0o700)
    unpack_parcels([parcel])
    assert Path(name_here(str(path))).read_bytes() == b"weights"


WORDS = st.lists(st.sampled_from(["gs2", "fast", "k=5", "0.25", "x", "cfr"]), min_size=1, max_size=3)


@settings(max_examples=amount(60))
@given(
    before=WORDS,
    after=WORDS,
    joints=st.lists(st.sampled_from(":,=+@"), min_size=2, max_size=2),
    content=st.binary(),
)
def test_the_file_in_any_name_is_found_and_nothing_else_of_it_changes(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[str],
    after: list[str],
    joints: list[str],
    content: bytes,
) -> None:
    digest = hashlib.sha256(content).hexdigest()[:8]
    path = tmp_path_factory.getbasetemp() / f"net-{digest}.safetensors"
    path.write_bytes(content)
    name = ":".join(before) + joints[0] + str(path) + joints[1] + ",".join(after)
    parcel = parcel_of(name)
    assert [text for text, _ in parcel.files] == [str(path)]
    assert parcel.contents[parcel.files[0][1]][0] == (path.name, content)
