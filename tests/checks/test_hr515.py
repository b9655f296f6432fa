"""HR515 revision-unpinned: sources in provenance without a commit."""

import pytest
from cards import judged, kinds

PLACE = ("revision-unpinned", "error", "MODEL_PROVENANCE.json")


def source(uri, digest):
    return [{"name": "base_model", "uri": uri, "digest": digest}]


@pytest.mark.parametrize(
    "revision", ["main", "v1.0", "HEAD", "0123abc", "refs/pr/3", "", "0123456789" * 4 + "0", "g" * 40, "ABCDEF0123" * 4, None, 7, ["a"]]
)
@pytest.mark.parametrize("uri", ["hf://example-org/tiny-base", "git+https://example.org/code.git"])
def test_bad_revisions(tmp_path, revision, uri):
    found = judged(tmp_path, dependencies=source(uri, {"gitCommit": revision}))
    assert kinds(found) == {PLACE}
    assert found[0].where.pointer == "/predicate/buildDefinition/resolvedDependencies/0/digest"


@pytest.mark.parametrize("digest", [{}, None, "main", {"sha256": "a" * 64}])
def test_bad_digests(tmp_path, digest):
    assert kinds(judged(tmp_path, dependencies=source("hf://example-org/tiny-base@main", digest))) == {PLACE}


def test_bad_among_good(tmp_path):
    good = source("hf://example-org/tiny-base", {"gitCommit": "a" * 40})
    assert len(judged(tmp_path, dependencies=[*good, *source("hf://other/draft", {"gitCommit": "main"}), *good])) == 1


@pytest.mark.parametrize(
    ("uri", "digest"),
    [
        ("hf://example-org/tiny-base", {"gitCommit": "0123456789" * 4}), ("git+https://example.org/x.git", {"gitCommit": "a" * 64}),
        ("hf://example-org/tiny-base", {"sha1": "a" * 40}), ("oci://registry.example/runtime", {"sha256": "a" * 64}), ("file:data", {"dirHash": "x"}),
        ("pkg:pypi/torch@2.9.1", {"sha256": "b" * 64}), ("https://example.org/paper", {}),
    ],
)  # fmt: skip
def test_good_sources(tmp_path, uri, digest):
    assert not judged(tmp_path, dependencies=source(uri, digest))


def test_good_odd_rows(tmp_path):
    assert not judged(tmp_path, dependencies=[7, None, {"uri": 3}, {"name": "x"}, []])
