"""What is fuzzed: readers of hostile bytes. Each takes any bytes and may only end in the ways its docstring names."""

from __future__ import annotations

import io
from pathlib import Path

from hubrelease import card_text, verify_release, weights
from hubrelease.containers import Containers
from hubrelease.decisions.columns import Side
from hubrelease.decisions.rows_file import RowsFile
from hubrelease.errors import SpecError
from hubrelease.release import Release
from hubrelease.strict_yaml import compose, find, typed


def container(data: bytes) -> None:
    """The safetensors parser: a header, faults, or ContainerFault. A header without faults tiles the file."""
    try:
        length = weights.header_length(data[:8], len(data))
        header, faults = weights.parse_header(data[8 : 8 + length], len(data))
    except weights.ContainerFault:
        return
    if header is not None and not faults:
        end = 0
        for tensor in header.tensors:
            assert tensor.begin == end
            end = tensor.end
        assert end == len(data) - header.data_start


def provenance(data: bytes) -> None:
    """The reader of MODEL_PROVENANCE.json: findings, never an exception; what it lists is safe to open."""
    found = verify_release.parse_provenance(data)
    assert found.document is not None or found.findings
    for subject in found.subjects:
        assert verify_release.path_fault(subject.name) is None
        assert subject.size >= 0
        assert len(subject.sha256) == 64
    verify_release.release_digest(found.subjects)
    for item in found.findings:
        assert "\n" not in verify_release.escape(item.message)


def index(data: bytes) -> None:
    """The reader of a shard index inside a release: an Index with well-formed rows, never an exception."""
    containers = Containers(release({"model.safetensors.index.json": data}))
    for found in containers.indexes.values():
        assert all(isinstance(k, str) and isinstance(v, str) for k, v in found.weight_map.items())
    assert containers.sets is not None


def yaml(data: bytes) -> None:
    """The strict YAML loader: a node whose every value has a line, or SpecError."""
    try:
        node = compose(data, "fuzz.yaml")
    except SpecError:
        return
    typed(node, {})
    assert find(node, "/a/0")[1] >= 1


def card(data: bytes) -> None:
    """The reader of a card's front matter, tables and text: a Card, never an exception."""
    found = card_text.read(data)
    assert found is not None


def decision_rows(data: bytes) -> None:
    """The reader of rows files: rows, or problems with a line. What it gives on can be scored."""
    file = RowsFile(Path("rows.jsonl"), io.BytesIO(data))
    side = Side()
    for row in file.rows():
        if row.status == "ok":
            side.add(row)
    assert file.run.header or file.problems
    assert all(found.where.line for found in file.problems)


def release(files: dict[str, bytes]) -> Release:
    empty = verify_release.Result(verify_release.Provenance(None, [], []), {}, [], [], 0, 0)
    return Release(Path("nowhere"), empty, files)


TARGETS = {target.__name__: target for target in (container, provenance, index, yaml, card, decision_rows)}
SEEDS = {
    "container": [b"\x02\0\0\0\0\0\0\0{}", b'\x38\0\0\0\0\0\0\0{"test":{"dtype":"I32","shape":[],"data_offsets":[0,4]}}\0\0\0\0'],
    "provenance": [b'{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"a","digest":{"sha256":"' + b"0" * 64 + b'"},"annotations":{"sizeBytes":1}}],"predicateType":"https://slsa.dev/provenance/v1","predicate":{"buildDefinition":{"externalParameters":{"spec":{"name":"a/b"}}}}}'],
    "index": [b'{"metadata":{"total_size":4},"weight_map":{"a":"model.safetensors"}}'],
    "card": [b"---\nlicense: mit\ntags: [a]\n---\n# T\n\n| a | b |\n|---|---|\n| x | 1.5 |\n", b"\xef\xbb\xbf---\n"],
    "decision_rows": [b'{"kind":"decision-run","schemaVersion":1}\n{"candidates":["a","b"],"choice":"a","id":"1","inputTokens":9,"label":"a","latencyMs":1.5,"probabilities":[0.75,0.25],"requestDigest":"' + b"0" * 64 + b'","status":"ok","task":"t","type":"choice"}\n{"event":"start","kind":"decision-session","powerLimitW":[395]}\n'],
    "yaml": [b"a: 1\nb: [x, 'y', \"z\"]\nc:\n  - d: |\n      text\n    e: {f: 1.10}\n", b"---\na: &x 1\n...\n"],
}  # fmt: skip
