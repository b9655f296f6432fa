"""A folder made to hurt its reader: names, files that are none, files that change while they are read, sheer size."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny
from verifying import both, within

from hubrelease import verify_release
from hubrelease.verify_release import Folder, check_folder, collisions, path_fault

GUIDE = "docs/guide.txt"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tiny.release(tmp_path / "release")


def listed(root: Path, name: str) -> Path:
    return tiny.edit(root, lambda s: s["subject"].append(tiny.subject(name, b"plain\n")))


# ---------------------------------------------------------------------------------------------------------------- names

NO_PATHS = {
    "empty": "", "absolute": "/etc/passwd", "double-slash": "//server/share", "parent": "../outside", "inner-parent": "docs/../../outside",
    "harmless-parent": "docs/../config.json", "only-parent": "..", "dot": ".", "inner-dot": "docs/./a", "empty-part": "docs//a",
    "trailing-slash": "docs/", "backslash": "docs\\a", "windows-parent": "..\\outside", "drive": "C:/a", "drive-relative": "c:a",
    "unc": "\\\\server\\share", "nul": "a\0b", "newline": "a\nb", "carriage-return": "a\rb", "escape": "a\x1b[2Jb", "delete": "a\x7fb",
    "c1": "a\x9bb", "line-separator": "a\u2028b", "paragraph-separator": "a\u2029b", "override": "a\u202egpj.py", "isolate": "a\u2066b\u2069",
    "lone-surrogate": "a\udcff", "high-surrogate": "\ud800", "long": "x" * 1025, "long-in-bytes": "é" * 513, "deep": "/".join("x" * 65),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_PATHS.values(), ids=NO_PATHS)
def test_a_listed_name_that_is_no_path(root: Path, name: str) -> None:
    assert path_fault(name)
    row = tiny.subject("placeholder", b"plain\n")
    data = (root / tiny.PROVENANCE).read_bytes()
    escaped = "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else "".join(f"\\u{u:04x}" for u in units(c)) for c in name)
    rows = tiny.dumps(row).replace(b"placeholder", escaped.encode())
    (root / tiny.PROVENANCE).write_bytes(data.replace(b'"subject": [', b'"subject": [' + rows.strip() + b",", 1))
    said = both(root)
    assert (said.code, said.errors) == (1, {("unsafe-path", tiny.PROVENANCE)})
    assert said.only()["pointer"] == "/subject/0/name"


def units(character: str) -> list[int]:
    """The UTF-16 code units of a character, a lone surrogate being its own."""
    data = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2)]


@pytest.mark.parametrize("name", [tiny.PROVENANCE, tiny.SIGNATURE])
def test_the_listing_and_the_signature_can_not_list_themselves(root: Path, name: str) -> None:
    (root / tiny.SIGNATURE).write_bytes(b"plain\n")
    assert both(listed(root, name)).errors == {("unsafe-path", tiny.PROVENANCE)}


@pytest.mark.parametrize("name", [".git/hooks/post-checkout", ".GIT/config", "docs/.git/config", ".git ./config", ".git"])
def test_no_release_brings_a_git_folder(root: Path, name: str) -> None:
    """Else a download would run its hooks at the first git command."""
    assert ("unsafe-path", tiny.PROVENANCE) in both(tiny.write(listed(root, name), {name: b"plain\n"})).errors


@pytest.mark.parametrize("name", [".gitignore", ".github/workflows/x.yml", "docs/a.git", "git"])
def test_names_that_only_look_like_gits_own(tmp_path: Path, name: str) -> None:
    assert both(tiny.release(tmp_path / "r", {name: b"plain\n"})).findings == []


GOOD_NAMES = [
    "a",
    "a b",
    "..a",
    "a..",
    "...",
    "é.txt",
    "漢字/文.txt",
    "שלום.txt",
    "😀",
    "ab:c",
    "a'\"b",
    "[bold]",
    "::error::x",
    "-rf",
    "~",
    "%2e%2e",
    "/".join("x" * 64),
]


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_odd_names_that_are_paths(tmp_path: Path, name: str) -> None:
    assert path_fault(name) is None
    said = both(tiny.release(tmp_path / "r", {name: b"plain\n"}))
    assert (said.code, said.findings) == (0, [])


DISK_NAMES = [
    b"a\nb", b"a\x1b[31mred", b"\x07", b"a\rb", b"a\x7f", b"\xff\xfe", b"caf\xe9", b"\xed\xa0\x80", b"a\\b", b"C:a", "a\u202eb".encode(),
    "a\u2028b".encode(), b"::error file=x::y\n::error::z", b"\x1b]8;;x\x07",
]  # fmt: skip


@pytest.mark.parametrize("name", DISK_NAMES, ids=repr)
def test_a_name_on_the_disk_that_can_not_travel(root: Path, name: bytes) -> None:
    (root / os.fsdecode(name)).write_bytes(b"plain\n")
    said = both(root)
    assert said.code == 1
    assert {kind for kind, _ in said.errors} == {"unsafe-path"}
    assert {kind for kind, _ in said.warnings} <= {"undeclared-file"}


TRICKS = [
    "::error::x", " ::error::x", "   ::add-mask::x", ":", ": ::", "##[error]x", "a ##[group]", "##vso[task.setvariable variable=x]y", "[bold red]x",
    "a\u200bb", "\ufeff", "\u00a0", "\u00ad", "file: HR200 good", "e\u0301\u0301\u0301",
]  # fmt: skip


@pytest.mark.parametrize("name", TRICKS, ids=ascii)
def test_a_name_is_never_a_command_to_whoever_shows_it(root: Path, name: str) -> None:
    (root / name).write_bytes(b"plain\n")
    said = both(root)  # which looks at every line of text
    assert {(kind, file) for kind, _, file in said.rows} == {("undeclared-file", name)}


@pytest.mark.parametrize("name", TRICKS, ids=ascii)
def test_a_folders_name_and_the_releases_own_are_no_commands_either(tmp_path: Path, name: str) -> None:
    root = tiny.release(tmp_path / name, {"LICENSE": None}, {"name": name})
    assert both(root).value["release"]["name"] == name
    (root / tiny.PROVENANCE).unlink()
    both(root)
    both(tmp_path / f"{name}-nowhere")


def test_a_release_name_that_is_no_unicode(root: Path) -> None:
    (root / tiny.PROVENANCE).write_bytes(
        (root / tiny.PROVENANCE).read_bytes().replace(tiny.NAME.encode(), b"a\\ud800\\u001b[2J\\n::error::b")
    )
    said = both(root)
    assert said.code == 0
    assert said.value["release"]["name"].startswith("a\\xed")


CLASHES = [
    ("Config.json", "config.json"),
    ("docs/A", "docs/a"),
    ("DOCS/b", "docs/guide.txt"),
    ("stra\u00dfe", "strasse"),
    ("caf\u00e9", "cafe\u0301"),
    ("\u212b", "\u00e5"),
    ("X/y/z/1", "x/Y/z/2"),
    ("docs/Guide.txt/x", "docs/guide.txt"),
    ("config.json.", "config.json"),
    ("docs ./b", "docs/guide.txt"),
]


@pytest.mark.parametrize(("one", "other"), CLASHES, ids=ascii)
def test_names_that_fall_together_elsewhere(root: Path, one: str, other: str) -> None:
    """Whether both are listed, one is, or none."""
    for names in ((), (one,), (other,), (one, other)):
        tiny.edit(root, lambda s: s.update(subject=[r for r in s["subject"] if r["name"] not in (one, other)]))
        for name in names:
            listed(root, name)
        found = {
            (f.kind, f.file)
            for f in check_folder(tiny.write(root, {one: b"plain\n"} | ({} if (root / other).exists() else {other: b"plain\n"}))).findings
        }
        clash = [file for kind, file in found if kind == "case-collision"]
        assert len(clash) in (2, 4)
        folds = {verify_release.fold(file) for file in clash}
        assert len(folds) == len(clash) // 2


def test_a_listed_name_clashes_with_one_on_the_disk_in_the_other_unicode_form(root: Path) -> None:
    (root / unicodedata.normalize("NFD", "café.txt")).write_bytes(b"plain\n")
    said = both(listed(root, "café.txt"))
    assert said.code == 1
    assert {kind for kind, _ in said.errors} == {"case-collision", "file-missing"}


def test_clashes_are_found_however_many_names_lie_between() -> None:
    names = [f"a/{n}" for n in range(100)] + [f"b/{n}" for n in range(100)] + ["B/x", "A"]
    assert {f.file for f in collisions(names)} == {"a", "A", "b", "B"}


def test_thousands_of_names_that_fall_together_take_no_more_than_themselves() -> None:
    names = ["".join(c.upper() if bits >> n & 1 else c for n, c in enumerate("abcdefghijkl")) for bits in range(4096)]
    with within(60):
        found = list(collisions(names))
    assert len(found) == 4096
    assert max(len(f.message) for f in found) < 200


def test_a_name_listed_twice(root: Path) -> None:
    said = both(tiny.edit(root, lambda s: s["subject"].append(tiny.subject(GUIDE, b"other\n"))))
    assert (said.code, said.errors) == (1, {("duplicate-subject", GUIDE)})


# ------------------------------------------------------------------------------------------------------- what is no file


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path may have 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def device(path: Path) -> None:
    try:
        os.mknod(path, 0o20666, os.makedev(1, 5))  # /dev/zero, without end
    except PermissionError:
        pytest.skip("only root makes devices")


SPECIALS = [fifo, unix_socket, device]


@pytest.mark.parametrize("make", SPECIALS)
@pytest.mark.parametrize("name", ["notes.txt", GUIDE, "model.safetensors", tiny.PROVENANCE, tiny.VERIFIER, ".gitattributes"])
def test_a_special_file_is_not_opened(root: Path, make: Callable[[Path], None], name: str) -> None:
    (root / name).unlink(missing_ok=True)
    make(root / name)
    with within(20):
        said = both(root)
    assert (said.code, said.errors) == (1, {("special-file", name)})


@pytest.mark.parametrize("make", SPECIALS)
def test_a_special_file_that_takes_the_place_of_a_file_while_we_look(
    root: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (root / GUIDE).unlink()
        make(root / GUIDE)

    after_scan(monkeypatch, swap)
    with within(20):
        assert ("special-file", GUIDE) in {(f.kind, f.file) for f in check_folder(root).findings}


def test_a_folder_where_the_provenance_should_be(root: Path) -> None:
    (root / tiny.PROVENANCE).unlink()
    (root / tiny.PROVENANCE).mkdir()
    said = both(root)
    assert (said.code, said.errors) == (1, {("provenance-missing", tiny.PROVENANCE)})


def test_a_folder_where_a_file_should_be(root: Path) -> None:
    (root / GUIDE).unlink()
    (root / GUIDE).mkdir()
    assert both(root).code == 3
    (root / GUIDE / "evil.py").write_bytes(b"")
    assert both(root).errors == {("file-missing", GUIDE), ("undeclared-file", f"{GUIDE}/evil.py")}


def test_a_hard_link_to_a_file_outside_counts_by_its_bytes(root: Path) -> None:
    (root / GUIDE).rename(root.parent / "outside")
    os.link(root.parent / "outside", root / GUIDE)
    assert both(root).code == 0
    (root.parent / "outside").write_bytes(b"changed")
    assert both(root).errors == {("hash-mismatch", GUIDE)}


# ---------------------------------------------------------------------------------------------------- what does not keep still


def after_scan(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """`change` happens between the look at the folder and the look at its files."""
    plain = Folder.scan

    def scan(self: Folder) -> Any:
        found = plain(self)
        change()
        return found

    monkeypatch.setattr(Folder, "scan", scan)


def kinds(root: Path, **options: Any) -> set[tuple[str, str]]:
    return {(f.kind, f.file) for f in check_folder(root, **options).findings}


@pytest.mark.parametrize("target", ["../../outside", "guide.bak", "/etc/passwd"])
def test_a_file_that_becomes_a_link(root: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def swap() -> None:
        (root / GUIDE).rename(root / "docs" / "guide.bak")
        shutil.copy(root / "docs" / "guide.bak", root.parent / "outside")
        (root / GUIDE).symlink_to(target)

    after_scan(monkeypatch, swap)
    assert kinds(root) == {("symlink", GUIDE)}


def test_a_folder_that_becomes_a_link(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def swap() -> None:
        (root / "docs").rename(root.parent / "docs")
        (root / "docs").symlink_to("../docs")

    after_scan(monkeypatch, swap)
    assert kinds(root) == {("symlink", GUIDE)}


def test_an_unlisted_file_that_becomes_a_link(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "notes.txt").write_bytes(b"plain\n")

    def swap() -> None:
        (root / "notes.txt").unlink()
        (root / "notes.txt").symlink_to("/etc/passwd")

    after_scan(monkeypatch, swap)
    assert kinds(root) == {("symlink", "notes.txt")}


def test_a_provenance_that_becomes_a_link(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def swap() -> None:
        (root / tiny.PROVENANCE).rename(root.parent / "outside")
        (root / tiny.PROVENANCE).symlink_to("../outside")

    after_scan(monkeypatch, swap)
    assert kinds(root) == {("symlink", tiny.PROVENANCE)}


def test_a_file_that_vanishes_is_undecided(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    after_scan(monkeypatch, (root / GUIDE).unlink)
    assert kinds(root) == {("unreadable", GUIDE)}


BIG = "assets/a.bmp"


@pytest.fixture
def big(tmp_path: Path) -> Path:
    return tiny.release(tmp_path / "r", {BIG: bytes(3 * verify_release.CHUNK_BYTES)})


def once(change: Callable[[], object]) -> Callable[[int], None]:
    """A count callback that makes the change after the first megabyte of the big file was hashed."""
    done: list[int] = []

    def count(size: int) -> None:
        if size == verify_release.CHUNK_BYTES and not done:
            done.append(size)
            change()

    return count


def grow(file: Path, size: int = 1) -> None:
    with file.open("ab") as out:
        out.write(bytes(size))


def touch_again(file: Path) -> None:
    with file.open("r+b") as out:
        out.write(b"x")
    os.utime(file, ns=(0, 0))


@pytest.mark.parametrize("change", [grow, lambda file: os.truncate(file, 5), touch_again], ids=["grows", "shrinks", "is-written"])
def test_a_file_that_changes_while_it_is_hashed_is_undecided(big: Path, change: Callable[[Path], None]) -> None:
    result = check_folder(big, count=once(lambda: change(big / BIG)), threads=1)
    assert [(f.kind, f.file, f.undecided) for f in result.findings] == [("file-changed", BIG, True)]
    assert verify_release.exit_code(result.findings) == 3


def test_a_file_that_never_ends_is_read_no_further_than_its_size(big: Path) -> None:
    read: list[int] = []

    def count(size: int) -> None:
        read.append(size)
        if size == verify_release.CHUNK_BYTES:
            grow(big / BIG, 2 * size)

    with within(60):
        assert kinds(big, count=count, threads=1) == {("file-changed", BIG)}
    assert sum(read) < 4 * verify_release.CHUNK_BYTES


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_hashing_stops_one_byte_after_the_listed_size() -> None:
    size = 2 * verify_release.CHUNK_BYTES + 5
    with within(20):
        digest, total = verify_release.hash_fd(os.open("/dev/zero", os.O_RDONLY), size)
    assert total == size + 1
    assert digest == tiny.sha256(bytes(size + 1))


def test_a_disk_that_fails_under_one_file_does_not_end_the_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = verify_release.hash_fd
    (root / GUIDE).write_bytes(b"a text that no loader\nand no check of weights looks at.\n")

    def hash_fd(fd: int, size: int, count: Any) -> tuple[str, int]:
        if size == len(tiny.model()["LICENSE"]):
            os.close(fd)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return plain(fd, size, count)

    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(verify_release, "hash_fd", hash_fd)
    said = both(root)
    assert said.errors == {("unreadable", "LICENSE"), ("hash-mismatch", GUIDE)}
    assert len(os.listdir("/proc/self/fd")) == before


# ------------------------------------------------------------------------------ systems that can't open below a folder


@pytest.mark.parametrize("swap", [None, "file", "folder", "provenance"])
def test_where_folders_have_no_descriptors_links_are_refused_too(root: Path, swap: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_release, "HAS_DIR_FD", False)
    assert both(root).code == 0
    place = {None: None, "file": root / GUIDE, "folder": root / "docs", "provenance": root / tiny.PROVENANCE}[swap]
    if place:

        def become_a_link() -> None:
            if not place.is_symlink():
                place.rename(root.parent / "moved")
                place.symlink_to(root.parent / "moved")

        after_scan(monkeypatch, become_a_link)
        assert {kind for kind, _ in kinds(root)} == {"symlink"}


# ------------------------------------------------------------------------------------------------------------------ size


def deep(root: Path, levels: int, length: int) -> None:
    """Folders in folders, the deepest 6,000 bytes down, which is more than a path may have."""
    fd = os.open(root, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d" * length, dir_fd=fd)
        inner = os.open("d" * length, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(os.open("evil.py", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)


@pytest.mark.parametrize(("levels", "length", "expected"), [(63, 10, "undeclared-file"), (65, 10, "unsafe-path"), (300, 20, "unsafe-path")])
def test_very_deep_folders(root: Path, levels: int, length: int, expected: str) -> None:
    deep(root, levels, length)
    with within(20):
        said = both(root)
    assert said.code == 1
    assert {kind for kind, _ in said.errors} == {expected}


@pytest.mark.parametrize("step", ["config", "requirements", "tokenizer.config.json", "._", "a.tmp", "compose.y"])
def test_names_made_to_be_slow_to_class(step: str) -> None:
    names = ["/".join([step * (250 // len(step))] * 60), step * 2000]
    with within(20):
        for name in names * 50:
            verify_release.name_reason(name)
            verify_release.LITTER.search(name)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with 20,000 more files beside it, none of them listed."""
    root = tiny.release(tmp_path_factory.mktemp("crowd") / "r", {"docs/names.json": tiny.dumps([f"word{n}" for n in range(50_000)])})
    for folder in range(20):
        (root / f"f{folder}").mkdir()
        for number in range(1000):
            os.close(os.open(root / f"f{folder}" / f"{number}.txt", os.O_CREAT | os.O_WRONLY))
    return root


@pytest.mark.xdist_group("crowd")
def test_twenty_thousand_unlisted_files(crowd: Path) -> None:
    with within(60):
        result = check_folder(crowd)
    assert len(result.findings) == 20_000
    assert {(f.kind, f.severity) for f in result.findings} == {("undeclared-file", "warning")}


@pytest.mark.xdist_group("crowd")
def test_twenty_thousand_listed_files(crowd: Path) -> None:
    plain = (crowd / tiny.PROVENANCE).read_bytes()
    rows = [tiny.subject(f"f{folder}/{number}.txt", b"") for folder in range(20) for number in range(1000)]
    tiny.edit(crowd, lambda s: s["subject"].extend(rows))
    with within(60):
        result = check_folder(crowd)
    (crowd / tiny.PROVENANCE).write_bytes(plain)
    assert (result.findings, result.missing) == ([], [])
    assert result.files_checked == 20_000 + len(tiny.model()) + 1
