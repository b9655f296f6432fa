"""What verify says of files that are not as they were sealed: changed, added, absent, half fetched."""

from __future__ import annotations

import io
import os
import pickle
import shutil
import zipfile
from pathlib import Path

import pytest
import tiny
from verifying import both, hubrelease_verify, stand_alone

from hubrelease import verify_release
from hubrelease.errors import Exit, Problem, Where, worst

GUIDE = "docs/guide.txt"
TEXT = tiny.model()[GUIDE]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tiny.release(tmp_path / "release")


def test_a_whole_release_is_good(root: Path) -> None:
    said = both(root)
    assert (said.code, said.findings) == (0, [])
    assert said.value["release"]["name"] == tiny.NAME
    files = tiny.files_of(root)
    del files[tiny.PROVENANCE]
    assert said.value["checked"]["files"] == len(files)
    assert said.value["checked"]["bytes"] == sum(map(len, files.values()))
    assert "Proved" in stand_alone(root).text


def test_the_digests_are_those_of_the_contract(root: Path) -> None:
    files = tiny.files_of(root)
    del files[tiny.PROVENANCE]

    def digest(names: list[str]) -> str:
        return tiny.sha256("".join(f"{tiny.sha256(files[n])}  {len(files[n])}  {n}\n" for n in sorted(names, key=str.encode)).encode())

    release = both(root).value["release"]
    assert release["releaseDigest"] == digest(list(files))
    assert release["payloadDigest"] == digest([n for n in files if n not in ("README.md", "LICENSE") and not n.startswith("docs/")])


# ------------------------------------------------------------------------------------------------------------ changed


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"B" + TEXT[1:], "hash-mismatch"),
        (TEXT[:-1] + b"\0", "hash-mismatch"),
        (TEXT[:-1], "hash-mismatch"),
        (TEXT + b"\n", "hash-mismatch"),
        (b"", "hash-mismatch"),
        (TEXT.replace(b"\n", b"\r\n"), "hash-line-endings"),
    ],
    ids=["byte", "nul", "shorter", "longer", "empty", "crlf"],
)
def test_a_changed_file(root: Path, data: bytes, kind: str) -> None:
    (root / GUIDE).write_bytes(data)
    said = both(root)
    assert (said.code, said.errors) == (1, {(kind, GUIDE)})


def test_line_ends_the_other_way_round(root: Path) -> None:
    (root / GUIDE).write_bytes(TEXT.replace(b"\n", b"\r\n"))
    tiny.seal(root)
    (root / GUIDE).write_bytes(TEXT)
    assert both(root).only()["kind"] == "hash-line-endings"


def test_a_binary_file_has_no_line_ends(tmp_path: Path) -> None:
    root = tiny.release(tmp_path / "r", {"assets/a.bmp": b"\0\n\0\n"})
    (root / "assets/a.bmp").write_bytes(b"\0\r\n\0\r\n")
    assert both(root).only()["kind"] == "hash-mismatch"


def test_every_byte_of_a_file_counts(tmp_path: Path) -> None:
    data = bytes(range(256)) * 5000  # longer than one chunk
    root = tiny.release(tmp_path / "r", {"assets/a.bmp": data})
    for place in (0, verify_release.CHUNK_BYTES - 1, verify_release.CHUNK_BYTES, len(data) - 1):
        changed = bytearray(data)
        changed[place] ^= 1
        (root / "assets/a.bmp").write_bytes(changed)
        assert verify_release.check_folder(root).findings[0].kind == "hash-mismatch"


def test_sizes_only_says_that_nothing_was_hashed(root: Path) -> None:
    (root / GUIDE).write_bytes(b"B" + TEXT[1:])
    said = stand_alone(root, "--sizes-only")
    assert said.code == 0
    assert "NOT hashed" in said.text
    (root / GUIDE).write_bytes(TEXT[:-1])
    assert stand_alone(root, "--sizes-only").errors == {("hash-mismatch", GUIDE)}


# ---------------------------------------------------------------------------------------------------------- LFS pointers


def pointer(data: bytes) -> bytes:
    return b"version https://git-lfs.github.com/spec/v1\noid sha256:%b\nsize %d\n" % (tiny.sha256(data).encode(), len(data))


def test_a_pointer_where_the_file_is_listed_is_undecided(root: Path) -> None:
    (root / GUIDE).write_bytes(pointer(TEXT))
    said = both(root)
    assert (said.code, said.errors) == (3, {("lfs-pointer", GUIDE)})
    assert said.only()["mend"] == "run git lfs pull"


def test_a_listed_pointer_is_an_error(tmp_path: Path) -> None:
    said = both(tiny.release(tmp_path / "r", {GUIDE: pointer(TEXT)}))
    assert (said.code, said.errors) == (1, {("lfs-pointer", GUIDE)})


def test_a_provenance_that_was_not_fetched_is_named_as_such(root: Path) -> None:
    (root / tiny.PROVENANCE).write_bytes(pointer((root / tiny.PROVENANCE).read_bytes()))
    said = both(root)
    assert (said.code, said.errors) == (3, {("lfs-pointer", tiny.PROVENANCE)})


def test_a_pointer_to_something_else_is_a_changed_file(root: Path) -> None:
    (root / GUIDE).write_bytes(pointer(TEXT + b"x"))
    assert both(root).errors == {("hash-mismatch", GUIDE)}


@pytest.mark.parametrize("tail", [b"x", b"\nimport os\n", b"\0" * 5000], ids=["byte", "code", "long"])
def test_a_file_that_only_starts_as_a_pointer_is_a_changed_file(root: Path, tail: bytes) -> None:
    (root / GUIDE).write_bytes(pointer(TEXT) + tail)
    said = both(root)
    assert (said.code, said.errors) == (1, {("hash-mismatch", GUIDE)})


# ---------------------------------------------------------------------------------------------------------- unlisted files


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("run",)


def zipped(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, b"x" * 500)
    return out.getvalue()


def words(text: str) -> list[str]:
    return text.split()


RUN_BY_NAME = words("""evil.py EVIL2.PY sub/evil.pyc evil.pyi evil.pyz evil.so evil.so.1.2 evil.dylib evil.dll evil.exe run.sh run.ps1 a.js a.mjs
a.ts a.ipynb kernel.cu kernel.cpp kernel.ptx a.whl a.pth a.jar Dockerfile Dockerfile.gpu sub/my.Dockerfile docker-compose.yml Makefile
requirements.txt requirements-dev.txt requirements.lock pyproject.toml setup.cfg training_args.pt a.pt2 a.pkl a.pickle a.joblib a.ckpt
a.npy a.npz a.keras a.nemo ._evil.py""")
LOADED_BY_NAME = words("""adapter_config.json processor_config.json sub/config.json preprocessor_config.json hf_quant_config.json config.yaml
generation_config.yml model_index.json params.json tekken.json hyperparams.yaml model.safetensors.index.json tokenizer.model
tokenizer_2.json vocab.txt merges.txt added_tokens.json special_tokens_map.json modules.json chat_template.json
additional_chat_templates/tool.jinja prompt.jinja prompt.j2 extra.safetensors sub/extra.SAFETENSORS a.gguf pytorch_model.bin spiece.model
a.tiktoken a.onnx a.h5 a.msgpack ._config.json""")
BY_CONTENT = {
    "script": b"#!/bin/sh\nrm -rf /\n",
    "elf": b"\x7fELF\x02\x01\x01",
    "windows": b"MZ\x90\x00",
    "mach-o": b"\xcf\xfa\xed\xfe\x07",
    "mach-o-32": b"\xce\xfa\xed\xfe\x07",
    "java-or-fat": b"\xca\xfe\xba\xbe\x00",
    "wasm": b"\x00asm\x01\x00\x00\x00",
    "hdf5": b"\x89HDF\r\n\x1a\n",
    "numpy": b"\x93NUMPY\x01\x00",
    "torch-zip": zipped("archive/data.pkl"),
    "torch-zip-pickle-last": zipped("archive/version", "archive/data/0", "archive/data.pkl"),
    **{f"pickle-{protocol}": pickle.dumps(Evil(), protocol) for protocol in range(6)},
    **{f"pickle-of-data-{protocol}": pickle.dumps({"a": [1]}, protocol) for protocol in range(6)},
    "pickle-0-long": b"(dp0\nS'a'\nS'" + b"x" * 5000 + b"'\ns.",
    "pickle-by-hand": b"cos\nsystem\n(S'id'\ntR.",
    "pickle-inst": b"(S'id'\nios\nsystem\n.",
    "pickle-after-much-text": b"V" + b"x" * 3000 + b"\n0cos\nsystem\n(V" + b"y" * 3000 + b"\ntR.",
    "pickle-with-a-rest-on-the-stack": b"NNcos\nsystem\n(S'id'\ntR.",
}
HARMLESS = words("""notes.txt docs/more.md assets/a.png data.csv notes.yaml LICENSE-2 sub/deep/down/a.rst a.zip.txt .env.example
cat.names .pre-commit-config.yaml""")


def add(root: Path, name: str, data: bytes) -> Path:
    return tiny.write(root, {name: data})


@pytest.mark.parametrize("names", [RUN_BY_NAME, LOADED_BY_NAME], ids=["run", "loaded"])
def test_unlisted_files_that_are_run_or_loaded_by_their_names(root: Path, names: list[str]) -> None:
    said = both(tiny.write(root, dict.fromkeys(names, b"plain\n")))
    assert (said.code, said.rows) == (1, {("undeclared-file", "error", name) for name in names})


def test_unlisted_files_that_are_run_or_loaded_by_their_content(root: Path) -> None:
    said = both(tiny.write(root, {f"docs/{label}.txt": data for label, data in BY_CONTENT.items()}))
    assert (said.code, said.rows) == (1, {("undeclared-file", "error", f"docs/{label}.txt") for label in BY_CONTENT})


def test_harmless_unlisted_files_are_warnings(root: Path) -> None:
    said = both(tiny.write(root, dict.fromkeys(HARMLESS, b"plain\n")))
    assert (said.code, said.rows) == (0, {("undeclared-file", "warning", name) for name in HARMLESS})
    assert hubrelease_verify(root, "--strict").code == 1


@pytest.mark.parametrize(
    "data",
    [
        b"cat\ndog\nbird\n",
        b"car\nbus\n",
        b"10.1\n",
        b"1.0.0",
        b".",
        b"",
        b"(see above)\n",
        b"cos and sin\n",
        b"iron\ngold\n",
        b"\x80",
        b"PK",
    ],
)
def test_plain_text_is_no_pickle(root: Path, data: bytes) -> None:
    assert both(add(root, "notes.txt", data)).warnings == {("undeclared-file", "notes.txt")}


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (b'{"extra": "special.dat"}', "special.dat"),
        (b'{"extra": "sub/dir/special.dat"}', "sub/dir/special.dat"),
        (b'{"extra": "sub\\/special.dat"}', "special.dat"),
        (b'{"extra": "see special.dat."}', "special.dat"),
        (b'{"extra": "my special (1).dat"}', "my special (1).dat"),
        ('{"extra": "spécial.dat"}'.encode(), "spécial.dat"),
        (b'{"extra": "sp\\u00e9cial.dat"}', "spécial.dat"),
        (b'{"extra": "\\ud83d\\ude00.dat"}', "😀.dat"),
        (b'{"lone": "\\ud83d", "extra": "special.dat"}', "special.dat"),
    ],
)
def test_an_unlisted_file_that_a_config_names(tmp_path: Path, config: bytes, name: str) -> None:
    root = tiny.release(tmp_path / "r", {"docs/extra.json": config})
    said = both(add(root, name, b"plain\n"))
    assert (said.code, said.rows) == (1, {("undeclared-file", "error", name)})
    assert "a config of the release names it" in said.only()["message"]


def test_a_config_that_names_another_file_reaches_nothing(tmp_path: Path) -> None:
    root = tiny.release(tmp_path / "r", {"docs/extra.json": b'{"a": "data.txt", "b": "my notes"}'})
    add(root, "a.txt", b"plain\n")
    assert both(add(root, "my other notes", b"plain\n")).code == 0


def test_an_unlisted_config_reaches_nothing(root: Path) -> None:
    add(root, "notes.yaml", b"extra: special.dat\n")
    assert both(add(root, "special.dat", b"plain\n")).errors == set()


@pytest.mark.parametrize(
    "name",
    [
        ".DS_Store",
        "sub/Thumbs.db",
        "notes.txt~",
        ".notes.txt.swp",
        "a.tmp",
        "model.safetensors.part",
        "tokenizer.json~",
        "vocab.json.orig",
        "tokenizer.json.0123abcd.incomplete",
    ],
)
def test_leftovers_are_warnings(root: Path, name: str) -> None:
    said = both(add(root, name, b"plain\n"))
    assert (said.code, said.rows) == (0, {("leftover", "warning", name)})


@pytest.mark.parametrize("name", ["._config.json", "._model.safetensors", "runtime/._verify_release.py", "._notes.txt"])
def test_what_macos_leaves_beside_each_file_is_a_warning(root: Path, name: str) -> None:
    assert both(add(root, name, b"\0\5\x16\7\0\2\0\0Mac OS X")).rows == {("leftover", "warning", name)}


def test_a_leftover_that_can_be_run_is_an_error(root: Path) -> None:
    add(root, "a.tmp", b"\x7fELF")
    add(root, "Dockerfile~", b"FROM scratch\n")
    add(root, "._folder/notes.txt", b"plain\n")
    said = both(root)
    assert said.errors == {("undeclared-file", "a.tmp"), ("undeclared-file", "Dockerfile~")}
    assert said.warnings == {("undeclared-file", "._folder/notes.txt")}


def test_an_unlisted_signature_and_git_attributes_are_fine(root: Path) -> None:
    add(root, tiny.SIGNATURE, b"{}")
    assert both(add(root, ".gitattributes", b"*.safetensors filter=lfs\n")).findings == []


# -------------------------------------------------------------------------------------------------------------- absences


def test_one_absent_file_is_a_partial_download(root: Path) -> None:
    (root / GUIDE).unlink()
    said = both(root)
    assert (said.code, said.errors, said.value["verdict"]) == (3, {("partial-download", GUIDE)}, "undecided")
    listed = len(tiny.model())
    assert f"partial: {listed - 1} of {listed} files" in said.only()["message"]
    assert GUIDE in said.only()["message"]


def test_many_absent_files_are_one_finding(tmp_path: Path) -> None:
    root = tiny.release(tmp_path / "r", {f"assets/{n}.bmp": b"x" * 10**5 for n in range(9)})
    shutil.rmtree(root / "assets")
    message = both(root).only()["message"]
    listed = len(tiny.model())
    assert f"partial: {listed} of {listed + 9} files, " in message
    assert "..." in message


def test_a_harmless_note_does_not_turn_a_partial_download_into_a_bad_one(root: Path) -> None:
    (root / GUIDE).unlink()
    said = both(add(root, "notes.txt", b"plain\n"))
    assert (said.code, said.errors) == (3, {("partial-download", GUIDE)})


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (".cache/huggingface/download/R1sSdWkOjf8=.0123abcd.incomplete", b"half"),
        (".cache/huggingface/download/R1sSdWkOjf8=.0123abcd.incomplete", b"PK\x03\x04"),
        (".cache/huggingface/download/runtime/R1sSdWkOjf8=.0123abcd.incomplete", b"#!"),
        (".cache/huggingface/download/tokenizer.json.0123abcd.incomplete", b"half"),  # as older clients name it
        ("docs/guide.txt.incomplete", b"half"),
    ],
)
def test_absences_and_incomplete_files_are_one_finding(root: Path, name: str, data: bytes) -> None:
    (root / GUIDE).unlink()
    said = both(add(root, name, data))
    assert (said.code, said.rows) == (3, {("partial-download", "error", GUIDE)})


def test_absent_and_otherwise_wrong_is_bad(root: Path) -> None:
    (root / GUIDE).unlink()
    (root / "LICENSE").unlink()
    (root / "chat_template.jinja").write_bytes(b"changed")
    said = both(root)
    assert said.code == 1
    assert said.errors == {("file-missing", GUIDE), ("file-missing", "LICENSE"), ("hash-mismatch", "chat_template.jinja")}
    listed = len(tiny.model())
    assert all(f"{listed - 2} of {listed} files" in f["message"] for f in said.findings if f["kind"] == "file-missing")


def test_an_empty_folder_is_no_release(tmp_path: Path) -> None:
    said = both(tmp_path)
    assert (said.code, said.errors) == (1, {("provenance-missing", tiny.PROVENANCE)})


def test_without_a_provenance_every_other_rule_still_holds(root: Path) -> None:
    (root / tiny.PROVENANCE).unlink()
    os.symlink("LICENSE", root / "link")
    add(root, "license", b"")
    assert both(root).errors == {
        ("provenance-missing", tiny.PROVENANCE),
        ("symlink", "link"),
        ("case-collision", "license"),
        ("case-collision", "LICENSE"),
    }


def test_all_findings_of_a_run_are_shown(root: Path) -> None:
    (root / GUIDE).write_bytes(b"changed")
    (root / "LICENSE").write_bytes(b"changed")
    add(root, "evil.py", b"")
    add(root, "notes.txt", b"")
    said = both(root)
    assert [f["file"] for f in said.findings] == ["LICENSE", GUIDE, "evil.py", "notes.txt"]


# ------------------------------------------------------------------------------------------------ exit codes, waivers


def test_precedence_of_exit_codes() -> None:
    def of(code: str, severity: str = "error", undecided: bool = False) -> Problem:
        return Problem(code, "kind", Where("file"), "message", "mend", severity, undecided)

    signature, bad, undecided, warning = of("HR700"), of("HR216"), of("HR221", undecided=True), of("HR222", "warning")
    assert worst([]) == worst([warning]) == Exit.GOOD
    assert worst([warning, undecided]) == Exit.OUTSIDE
    assert worst([undecided, bad, warning]) == Exit.BAD
    assert worst([undecided, bad, signature]) == Exit.SIGNATURE


def test_strict_makes_a_warning_bad_but_a_partial_download_stays_undecided(root: Path) -> None:
    assert hubrelease_verify(root, "--strict").code == 0
    (root / GUIDE).unlink()
    assert hubrelease_verify(root, "--strict").code == 3
    add(root, ".cache/huggingface/download/a.0.incomplete", b"half")
    assert hubrelease_verify(root, "--strict").code == 3
    add(root, "notes.txt", b"plain\n")
    assert hubrelease_verify(root, "--strict").code == 1


def waived(tmp_path: Path, waive: object, changes: dict[str, bytes | None] | None = None) -> Path:
    return tiny.release(tmp_path / "r", changes, {"waive": waive})


def altered(root: Path, *options: str) -> tuple[int, dict[str, object]]:
    """Exit code and the finding on the verifier, which can be waived."""
    said = hubrelease_verify(root, *options)
    (found,) = [f for f in said.findings if f["kind"] == "verifier-altered"]
    return said.code, found


ALTERED: dict[str, bytes | None] = {tiny.VERIFIER: b"print('good')\n"}


@pytest.mark.parametrize("file", [tiny.VERIFIER, None])
def test_a_waived_finding_says_so_and_strict_does_not_care(tmp_path: Path, file: str | None) -> None:
    root = waived(tmp_path, [{"code": "HR226", "reason": "ours prints more"} | ({"file": file} if file else {})], ALTERED)
    for options, code in (((), 0), (("--strict",), 1)):
        found, finding = altered(root, *options)
        assert found == code
        assert "(waived by the publisher: ours prints more)" in str(finding["message"])


def test_a_waiver_for_another_file_waives_nothing(tmp_path: Path) -> None:
    root = waived(tmp_path, [{"code": "HR226", "file": "runtime/other.py", "reason": "x"}], ALTERED)
    assert "waived" not in str(altered(root)[1]["message"])


@pytest.mark.parametrize("code", sorted(verify_release.CODES.values()))
def test_findings_on_files_can_not_be_waived(tmp_path: Path, code: str) -> None:
    root = waived(tmp_path, [{"code": code, "reason": "please"}])
    (root / GUIDE).write_bytes(b"changed")
    (root / "LICENSE").unlink()
    os.symlink("config.json", root / "link")
    add(root, "evil.py", b"")
    said = both(root)
    assert said.code == 1
    assert "waived" not in said.text
    assert {kind for kind, _ in said.errors} == {"hash-mismatch", "file-missing", "symlink", "undeclared-file"}


HOSTILE_WAIVERS = [
    0, "x", None, True, {}, {"code": "HR226"}, [[]], [None], [0], ["HR226"], [{}], [{"code": "HR226"}], [{"reason": "x"}],
    [{"code": ["HR226"], "reason": "x"}], [{"code": "HR226", "reason": " "}], [{"code": "HR226", "reason": 1}],
    [{"code": "HR226", "reason": {"a": 1}}], [{"code": "HR226", "file": [], "reason": "x"}], [{"code": "HR226", "file": {}, "reason": "x"}],
    [{"code": "HR226", "file": 3.5, "reason": "x"}], [{"code": "HR226", "file": True, "reason": "x"}],
]  # fmt: skip


@pytest.mark.parametrize("waive", HOSTILE_WAIVERS, ids=repr)
def test_a_waiver_that_is_none_waives_nothing(tmp_path: Path, waive: object) -> None:
    assert "waived" not in str(altered(waived(tmp_path, waive, ALTERED))[1]["message"])


@pytest.mark.parametrize("reason", ["\x1b[2Jgood", "a\n::error::b", "\u202eevil", "[bold]x[/bold]", "\ud800", "##[error]x", "x" * 10**5])
def test_a_hostile_reason_stays_on_its_line(tmp_path: Path, reason: str) -> None:
    root = waived(tmp_path, [{"code": "HR226", "reason": reason}], ALTERED) if "\ud800" not in reason else waived(tmp_path, [], ALTERED)
    (root / tiny.PROVENANCE).write_bytes(
        (root / tiny.PROVENANCE).read_bytes().replace(b'"waive": []', b'"waive": [{"code": "HR226", "reason": "\\ud800"}]')
    )
    assert "waived by the publisher" in str(altered(root)[1]["message"])


def test_a_verifier_too_large_to_be_ours_is_altered(tmp_path: Path) -> None:
    root = tiny.release(tmp_path / "r", {tiny.VERIFIER: tiny.model()[tiny.VERIFIER] + b"#" * 17_000_000})
    assert altered(root)[1]["severity"] == "warning"
