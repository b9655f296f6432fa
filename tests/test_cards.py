"""cards: a pure function of its data; templates strict, sandboxed and bounded; every problem at once, at its line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tiny
from command_line import Cli
from golden import same_as_golden
from huggingface_hub import ModelCard
from specs import COMMIT, DIGEST, LOCAL, MINIMAL, faults, folder, load, local, only

import hubrelease
from hubrelease.cards import render
from hubrelease.digest import FileDigest
from hubrelease.errors import Problem
from hubrelease.facts import Facts
from hubrelease.lock import Lock, LockedSource
from hubrelease.markdown import FILTERS
from hubrelease.outside import cache_folder
from hubrelease.payload import Payload
from hubrelease.templating import MAX_STEPS

WEIGHTS = {
    "files": 2,
    "tensors": 21,
    "parameters": 1576,
    "bytes": 5216,
    "dtypes": {"BF16": {"tensors": 21, "parameters": 1576, "bytes": 3152}},
}
PAYLOAD = Payload("b" * 64, {"files": {"count": 3, "bytes": 4096}, "weights": WEIGHTS})
LOCK = Lock((LockedSource("base_model", "hf", {"hf": "org/base"}, COMMIT, (FileDigest("x", "c" * 64, 1500),), license="mit"),))
SPEC: dict[str, Any] = {
    **MINIMAL,
    "license_reason": "the base is Apache-2.0, and so is this",
    "sources": {"base_model": {"hf": "org/base", "license": "mit", "note": "The base of everything."}, "img": {"image": f"python@{DIGEST}"}},
    "weights": {"format": "as-is", "recipe": {"method": "none", "tool": "by hand"}, "remote_code": "it has a layer of its own",
                "auxiliary": [{"path": "scales.safetensors", "purpose": "activation scales of calibration"}]},
    "side_files": {"omit": [{"path": "*.bin", "reason": "the same weights as pickles"}]},
    "runtime": {"kind": "verify", "image": "img", "compute_capabilities": ["12.0"], "expected_capabilities": ["10.0"], "cuda": "12.9", "cuda_archs": ["12.0"]},
    "benchmarks": [{"receipt": "r.json", "of": "org/base", "note": "one run"}],
    "card": {"title": "A tiny_model", "summary": "It *says* nothing.", "language": ["no", "en"], "tags": ["1e5"], "pipeline_tag": "text-generation",
             "tables": [{"title": "Scores", "measured_by": "upstream", "note": "Of one run.", "columns": ["task", "score", "size"],
                         "rows": [["gsm8k", {"receipt": "benchmarks/r.json", "pointer": "/score", "as": "percent", "decimals": 1},
                                   {"payload": "weights", "pointer": "/bytes", "as": "bytes"}],
                                  ["stated", {"spec": True, "pointer": "/version"}, {"lock": "base_model", "pointer": "/bytes"}]]}],
             "text": {"usage": "```python\nprint(1)\n```", "limits": "- many", "licence": "See there."}},
}  # fmt: skip
RECEIPT = {"score": 0.43786, "name": "x"}


def facts(root: Path, spec: Any = None, payload: Payload | None = PAYLOAD, template: str | bytes | None = None) -> Facts:
    asked = json.loads(json.dumps(SPEC if spec is None else spec))
    if template is not None:
        asked.setdefault("card", {})["template"] = "own.j2"
    read = load(root, asked, **({"own.j2": template} if template is not None else {}))
    return Facts(read, LOCK, {r.to: RECEIPT for r in read.receipts}, payload)


def refusal(root: Path, template: str | bytes, payload: Payload | None = PAYLOAD) -> Problem:
    """The one problem of a template of one's own."""
    found = only(faults(lambda: render(facts(root, MINIMAL, payload, template))))
    assert len(found.message) <= 300
    return found


def own(root: Path, template: str) -> str:
    return render(facts(root, MINIMAL, PAYLOAD, template))


# ------------------------------------------------------------------------------------------------------ the default card


def test_the_golden_card(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    report = {"result": "not-run", "reason": "no GPU"}
    same_as_golden(request, "card.md", render(facts(tmp_path), report))


def test_the_golden_card_of_the_shortest_spec(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    same_as_golden(request, "card-minimal.md", render(Facts(load(tmp_path, MINIMAL), Lock(), {}, None)))


def test_the_same_facts_are_the_same_bytes(tmp_path: Path) -> None:
    assert render(facts(tmp_path / "a")) == render(facts(tmp_path / "b"))
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_cards, pathlib; print(test_cards.render(test_cards.facts(pathlib.Path({str(tmp_path / 'c')!r}))), end='')"
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, env={"PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    ]
    assert runs == [render(facts(tmp_path)).encode()] * 2


def test_front_matter_is_read_back_by_the_hubs_own_client(tmp_path: Path) -> None:
    data = ModelCard(render(facts(tmp_path))).data
    assert (data.license, data.base_model, data.pipeline_tag, data.language, data.tags) == (
        "apache-2.0",
        "org/base",
        "text-generation",
        ["no", "en"],
        ["1e5"],
    )


def test_the_base_model_is_the_hub_source_unless_the_card_names_another(tmp_path: Path) -> None:
    spec = {**SPEC, "card": {"base_model": "sentence/other"}}
    assert ModelCard(render(facts(tmp_path, spec))).data.base_model == "sentence/other"
    assert ModelCard(render(Facts(load(tmp_path, LOCAL), Lock(), {}, None))).data.base_model is None


@pytest.mark.parametrize(
    ("report", "wanted"),
    [
        (None, "has not been run on a GPU by hubrelease."),
        ({"schemaVersion": 1, "result": "not-run", "checks": []}, "has not been run on a GPU by hubrelease."),
        ({"result": "not-run", "reason": "no GPU | here"}, "by hubrelease: no GPU \\| here."),
        ({"result": "pass"}, "Passed; see `benchmarks/release-validation.json`."),
        ({"result": "pass", "environment": {"gpus": [{"name": "RTX <b>", "computeCapability": "12.0"}]}}, "Passed on RTX &lt;b&gt; (compute capability 12.0); see"),
        ({"result": "fail"}, "**Failed.**"),
    ],
)  # fmt: skip
def test_the_card_says_what_validation_found(tmp_path: Path, report: Any, wanted: str) -> None:
    assert wanted in render(facts(tmp_path), report).split("## Validation")[1].split("##")[0]


def test_what_was_expected_and_not_measured_is_called_so(tmp_path: Path) -> None:
    card = render(facts(tmp_path), {"result": "pass"})
    assert "Expected to run on compute capability 10.0, which was not measured." in card
    assert "Stated by the publisher: made for compute capability 12.0." in card


def test_a_private_base_is_not_named(tmp_path: Path) -> None:
    private = Lock((LockedSource("base_model", "hf", {"hf": "org/base"}, COMMIT, private=True),))
    made = facts(tmp_path, {**MINIMAL, "sources": {"base_model": {"hf": "org/base"}}})
    card = render(Facts(made.spec, private, {}, PAYLOAD))
    assert "org/base" not in card
    assert COMMIT in card


# ------------------------------------------------------------------------------------------------------------ text blocks


def test_a_text_that_the_template_does_not_place_is_a_problem(tmp_path: Path) -> None:
    spec = {**MINIMAL, "card": {"text": {"usage": "x", "limitations": "y", "zzz": "z"}}}
    found = faults(lambda: render(facts(tmp_path, spec)))
    assert [(p.kind, p.where.pointer) for p in found] == [
        ("template-fault", "/card/text/limitations"),
        ("template-fault", "/card/text/zzz"),
    ]


@pytest.mark.parametrize("name", ["usage", "items", "get", "keys", "used", "pop", "values", "update"])
def test_any_name_of_a_text_can_be_placed(tmp_path: Path, name: str) -> None:
    spec = {**MINIMAL, "card": {"text": {name: "words"}}}
    assert render(facts(tmp_path, spec, template="{{ text." + name + " }}")) == "words\n"
    assert render(facts(tmp_path, spec, template="{% for n in text %}{{ n }}={{ text[n] }}{% endfor %}")) == f"{name}=words\n"


@pytest.mark.parametrize("name", ["__class__", "Usage", "a-b", "", "1a"])
def test_other_names_of_texts_are_refused(tmp_path: Path, name: str) -> None:
    found = faults(lambda: load(tmp_path, {**MINIMAL, "card": {"text": {name: "x"}}}))
    assert only(found).where.pointer == f"/card/text/{name}"


# --------------------------------------------------------------------------------------------------- strict, with a place

FAULTS: dict[str, tuple[str, int | None, str]] = {
    "a\n\n{{ nothing }}": ("own.j2", 3, "'nothing' is undefined"),
    "{{ card.absent.more }}": ("own.j2", 1, "has no attribute 'absent'"),
    "{{ figures.absent }}": ("own.j2", 1, "card.figures has no 'absent'"),
    "{{ figures['absent'] if figures['absent'] is defined }}\n{{ figures.absent | md }}": ("own.j2", 2, "card.figures has no 'absent'"),
    "\n{{ tables[7].title }}": ("own.j2", 2, ""),
    "a\n{% if %}": ("own.j2", 2, "Expected an expression"),
    "a\n{{ 'x' | nofilter }}\n": ("own.j2", 2, "No filter named 'nofilter'"),
    "{% for a in b %}": ("own.j2", 1, "Unexpected end of template"),
    "{% macro m(a) %}\n{{ a.b.c }}\n{% endmacro %}\n\n{{ m(1) }}": ("own.j2", 2, "has no attribute 'b'"),
    '{% extends "card.md.j2" %}\n{% block usage %}\n{{ oops }}\n{% endblock %}': ("own.j2", 3, "'oops' is undefined"),
    '\n\n{% include "card.txt" %}': ("own.j2", 3, "names the template 'card.txt'"),
    '{% extends "/etc/passwd" %}': ("own.j2", 1, "names the template '/etc/passwd'"),
    '{% import "../x.j2" as x %}': ("own.j2", 1, "names the template '../x.j2'"),
    '{% from "os" import system %}': ("own.j2", 1, "names the template 'os'"),
    "{{ 1 / 0 }}": ("own.j2", None, "division by zero"),
    "\n{{ 1 + 'a' }}": ("own.j2", None, "unsupported operand"),
    "{{ title | thousands }}": ("own.j2", 1, ""),
    "{{ card }}": ("own.j2", 1, "a dict can't be printed"),
    "{{ payload.weights }}": ("own.j2", 1, "a dict can't be printed"),
    "{{ license_reason }}": ("own.j2", 1, "nothing can't be printed"),
    "{{ range }}": ("own.j2", 1, "can't be printed"),
    "{{ self }}": ("own.j2", 1, "can't be printed"),
    "{{ lipsum() }}": ("own.j2", 1, "'lipsum' is undefined"),
    "{{ [1, 2] | random }}": ("own.j2", 1, "No filter named 'random'"),
}


def test_a_figure_that_is_not_there_is_told_with_the_nearest(tmp_path: Path) -> None:
    card = {"template": "own.j2", "figures": {"accuracy": {"receipt": "benchmarks/r.json", "pointer": "/a"}}}
    spec = load(tmp_path, {**MINIMAL, "card": card}, **{"own.j2": "{{ figures.acuracy }}"})
    (found,) = faults(lambda: render(Facts(spec, Lock(), {"benchmarks/r.json": {"a": 1}}, None)))
    assert "card.figures has no 'acuracy'; the nearest is 'accuracy'" in found.message


@pytest.mark.parametrize("template", FAULTS, ids=repr)
def test_a_fault_of_a_template_is_told_with_its_file_and_line(tmp_path: Path, template: str) -> None:
    file, line, words = FAULTS[template]
    found = refusal(tmp_path, template)
    assert (found.kind, found.where.file) == ("template-fault", file)
    assert line is None or found.where.line == line
    assert words in found.message


def test_a_fault_in_the_default_template_names_that_one(tmp_path: Path) -> None:
    found = refusal(tmp_path, '{% set title = 5 %}{% extends "card.md.j2" %}{% block summary %}{{ super() }}{{ card.x.y }}{% endblock %}')
    assert found.where.file == "own.j2"
    report = {"result": "pass", "environment": {"gpus": [{"name": "x"}]}}
    found = only(faults(lambda: render(facts(tmp_path), report)))
    assert (found.where.file, "computeCapability" in found.message) == ("card.md.j2", True)
    assert found.where.line


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\n\n\xe9"], ids=repr)
def test_a_template_is_utf_8(tmp_path: Path, data: bytes) -> None:
    assert refusal(tmp_path, data).message == "is not UTF-8"


def test_a_template_may_not_have_the_name_of_the_one_it_would_extend(tmp_path: Path) -> None:
    spec = {**MINIMAL, "card": {"template": "card.md.j2"}}
    found = only(faults(lambda: render(Facts(load(tmp_path, spec, **{"card.md.j2": '{% extends "card.md.j2" %}'}), Lock(), {}, None))))
    assert "another name" in found.mend


@pytest.mark.parametrize("path", ["absent.j2", "../own.j2", "/etc/hostname", "sub"])
def test_a_template_lies_beside_release_yaml(tmp_path: Path, path: str) -> None:
    folder(tmp_path, "", **{"sub/x": ""})
    spec = load(tmp_path, {**MINIMAL, "card": {"template": path}})
    found = only(faults(lambda: render(Facts(spec, Lock(), {}, None))))
    assert (found.kind, found.where.pointer) == ("local-file-missing", "/card/template")


def test_figures_templates_and_texts_are_told_at_once(tmp_path: Path) -> None:
    spec = {
        **SPEC,
        "card": {
            "template": "own.j2",
            "summary": "```",
            "tables": [{"title": "t", "columns": ["a"], "rows": [[{"receipt": "x", "pointer": ""}]]}],
        },
    }
    read = load(tmp_path, spec, **{"own.j2": "\n{{ oops }}"})
    found = faults(lambda: render(Facts(read, LOCK, {}, PAYLOAD)))
    assert [p.kind for p in found] == ["spec-invalid", "figure-fault", "template-fault"]


# --------------------------------------------------------------------------------------------------------- the sandbox

ESCAPES = [
    "{{ ''.__class__ }}", "{{ ''.__class__.__mro__[1].__subclasses__() }}", "{{ [].__class__.__base__ }}", "{{ ''['__class__'] }}",
    "{{ '' | attr('__class__') }}", "{{ title.__init__.__globals__ }}", "{{ render.__globals__ }}", "{{ self._TemplateReference__context }}",
    "{{ cycler.__init__.__globals__.os.system('id') }}", "{{ joiner.__init__.__globals__ }}", "{{ namespace.__init__.__globals__ }}",
    "{{ '{0.__class__}'.format('') }}", "{{ '{0.__class__}'.format_map({}) }}", "{% set f = '{0.__class__}'.format %}{{ f('') }}",
    "{{ tables.append(1) }}", "{{ spec.update(a=1) }}", "{{ spec.clear() }}", "{{ sources.pop() }}", "{{ card.setdefault('x', 1) }}",
    "{{ text._texts }}", "{{ text.__init__ }}", "{{ tables.__class__ }}", "{{ receipts.__class__.__base__ }}", "{{ payload.__class__ }}",
    "{{ [title] | map(attribute='__class__') | list }}", "{{ [''] | map('attr', '__class__') | first }}", "{{ dict.__base__ }}", "{{ range.__self__ }}",
    "{{ ({}).__class__ }}", "{{ (1).__class__ }}", "{{ title | attr('format') }}", "{{ environment }}", "{{ context.environment }}", "{{ config }}",
]  # fmt: skip


@pytest.mark.parametrize("template", ESCAPES)
def test_a_template_can_not_leave_the_sandbox(tmp_path: Path, template: str) -> None:
    before = json.dumps(facts(tmp_path, MINIMAL).spec.document)
    assert refusal(tmp_path, template).kind == "template-fault"
    assert json.dumps(facts(tmp_path, MINIMAL).spec.document) == before


ENDLESS = {
    "a huge range": "{% for i in range(10 ** 9) %}{% endfor %}",
    "a larger range": "{% for i in range(1000000000) %}x{% endfor %}",
    "ranges in ranges": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "a range in lists in lists": "{% for i in 'x' | list %}{% for a in range(9999) %}{% for b in range(9999) %}{{ b }}{% endfor %}{% endfor %}{% endfor %}",
    "a macro that calls itself": "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "a macro that calls itself with a depth": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "a loop that calls itself": "{% for x in [1, 2] recursive %}{{ loop([1, 2]) }}{% endfor %}",
    "a block that shows itself": "{% block a %}{{ self.a() }}{% endblock %}",
    "a template that includes itself": '{% include "own.j2" %}{% include "own.j2" %}',
    "a template that extends itself": '{% extends "own.j2" %}',
    "repeated text": "{{ 'x' * 10000000000 }}", "repeated lists": "{{ ([1] * 10000000000) | length }}", "a power": "{{ 10 ** 10 ** 10 }}",
    "a format": "{{ '%9999999999d' % 1 }}", "a padded text": "{{ 'x'.ljust(9999999999) }}", "a centred text": "{{ 'x' | center(9999999999) }}",
    "a formatted text": "{{ '{:>9999999999}'.format(1) }}", "an indented text": "{{ 'a\nb' | indent(9999999999) }}", "zeros": "{{ '1'.zfill(9999999999) }}",
    "bytes of a number": "{{ (1).to_bytes(9999999999, 'big') }}",
}  # fmt: skip


@pytest.mark.parametrize("name", ENDLESS)
def test_a_template_ends(tmp_path: Path, name: str) -> None:
    began = time.monotonic()
    assert refusal(tmp_path, ENDLESS[name]).kind == "template-fault"
    assert time.monotonic() - began < 10
    assert sys.gettrace() is None or "pytest_cov" in sys.modules


def test_a_card_of_thousands_of_rows_is_no_endless_loop(tmp_path: Path) -> None:
    rows = [[f"task {n}", {"receipt": "benchmarks/r.json", "pointer": "/score"}] for n in range(1000)]
    spec = {**MINIMAL, "benchmarks": [{"receipt": "r.json"}], "card": {"tables": [{"title": "t", "columns": ["a", "b"], "rows": rows}]}}
    assert render(facts(tmp_path, spec)).count("0.43786") == 1000
    assert MAX_STEPS > 10_000 * 20


def test_a_trace_function_that_was_there_is_there_again(tmp_path: Path) -> None:
    def trace(*_: object) -> None: ...

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        own(tmp_path, "x")
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)


DOCS = (Path(__file__).parent.parent / "docs" / "templates.md").read_text("utf-8")


@pytest.mark.parametrize("name", re.findall(r"^\| `(\w+)` \|", DOCS, re.M))
def test_a_name_that_the_docs_list_is_defined(tmp_path: Path, name: str) -> None:
    assert own(tmp_path, "{{ " + name + " is defined }}") == "True\n"


def test_the_docs_list_the_filters_and_blocks() -> None:
    listed = set(re.findall(r"`(\w+)`", DOCS))
    template = (Path(__file__).parent.parent / "templates" / "card.md.j2").read_text("utf-8")
    assert set(FILTERS) <= listed
    assert set(re.findall(r"{% block (\w+) %}", template)) <= listed


def test_values_are_not_templates(tmp_path: Path) -> None:
    spec = {**MINIMAL, "card": {"summary": "{{ 7 * 7 }} {% for %} {# x #}", "text": {"usage": "{% endblock %}"}}}
    card = render(facts(tmp_path, spec))
    assert "{{ 7 * 7 }} {% for %} {# x #}" in card
    assert "{% endblock %}" in card


def test_a_card_holds_no_control_characters_whatever_its_template_places(tmp_path: Path) -> None:
    found = refusal(tmp_path, "a\n{{ '\\x1b' }}[31m")
    assert "U+001B on line 2" in found.message


# --------------------------------------------------------------------------------------------------- before there is a build


@pytest.mark.parametrize(
    "template", ["{{ payload.weights.tensors }}", "{{ payload['weights'] }}", "\n{% for d in payload.weights.dtypes %}{% endfor %}"]
)
def test_a_fact_of_the_payload_is_an_error_that_names_it_where_nothing_was_built(tmp_path: Path, template: str) -> None:
    found = refusal(tmp_path, template, None)
    assert (found.kind, found.message) == ("figure-fault", "payload.weights is known only after a build")
    assert found.where.line == template.count("\n") + 1


def test_a_template_can_ask_whether_there_is_a_payload(tmp_path: Path) -> None:
    template = "{% if payload %}{{ payload.weights.tensors }}{% else %}not yet{% endif %}"
    assert render(facts(tmp_path, MINIMAL, None, template)) == "not yet\n"
    assert own(tmp_path, template) == "21\n"


# -------------------------------------------------------------------------------------------------------- the command line


def test_card_render_without_a_build_renders_the_default_card(tmp_path: Path, cli: Cli) -> None:
    said = cli("card", "render", folder(tmp_path, MINIMAL))
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("---\nlicense: apache-2.0\n---\n\n# tiny\n")
    assert "What it contains" not in said.out


def test_card_render_prints_the_very_bytes_of_the_card(tmp_path: Path, cli: Cli) -> None:
    root = folder(tmp_path, {**MINIMAL, "card": {"text": {"usage": "::notice::x\n```\n\tindented | é\n```"}}})
    assert (
        cli("card", "render", root).out
        == hubrelease.render_card(hubrelease.load_spec(root))
        == cli("card", "render", root, "--json").value["card"]
    )
    for place in (tmp_path, "/"):
        said = cli("card", "render", root, "-o", place, "--json")
        assert (said.code, said.problems[0]["message"]) == (3, "is a folder")
    assert cli("card", "render", root, "-o", tmp_path / "README.md").code == 0
    assert (tmp_path / "README.md").read_text() == cli("card", "render", root).out


def test_card_render_without_a_build_names_the_figure_that_it_can_not_know(tmp_path: Path, cli: Cli) -> None:
    table = {"title": "t", "columns": ["a", "b"], "rows": [["x", {"payload": "weights", "pointer": "/tensors"}]]}
    said = cli("card", "render", folder(tmp_path, {**MINIMAL, "card": {"tables": [table]}}), "--json")
    assert (said.code, said.problems[0]["message"]) == (1, "payload:weights/tensors is known only after a build")
    assert said.problems[0]["pointer"] == "/card/tables/0/rows/0/1"


def test_card_render_takes_facts_from_a_tree_or_the_last_build(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    root = local(tmp_path / "p")
    assert "What it contains" not in cli("card", "render", root).out
    cli("build", root, "--out", tmp_path / "out")
    built = (tmp_path / "out" / "README.md").read_text()
    assert cli("card", "render", root).out == built
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    assert "What it contains" not in cli("card", "render", root).out
    assert cli("card", "render", root, "--tree", tmp_path / "out").out == built


def test_facts_of_a_build_with_other_files_are_not_taken(tmp_path: Path, cli: Cli) -> None:
    root = folder(tmp_path / "p", "", notes__md="one")
    local(root, files=[{"from": "notes.md", "to": "notes.md"}])
    cli("build", root, "--out", tmp_path / "out")
    assert "What it contains" in cli("card", "render", root).out
    (root / "notes.md").write_text("another")
    assert "What it contains" not in cli("card", "render", root).out


@pytest.mark.parametrize("kept", [b"", b"{", b"[]", b'{"digest": "x", "facts": []}', b'{"digest": "x", "facts": {"files": {}}}', b'{"digest": "x", "facts": {"files": 1, "weights": 2}}'], ids=repr)  # fmt: skip
def test_facts_of_the_last_build_that_can_not_be_read_are_none(tmp_path: Path, cli: Cli, kept: bytes) -> None:
    root = local(tmp_path / "p")
    cli("build", root, "--out", tmp_path / "out")
    (file,) = (cache_folder() / "payloads").glob("*.json")
    file.write_bytes(kept)
    said = cli("card", "render", root)
    assert (said.code, "What it contains" in said.out) == (0, False)


def test_check_prints_the_difference(tmp_path: Path, cli: Cli) -> None:
    root = folder(tmp_path, MINIMAL)
    card = cli("card", "render", root).out
    (root / "README.md").write_text(card.replace("# tiny", "# Tiny, by hand"))
    said = cli("card", "render", root, "--check")
    assert said.code == 1
    assert "-# Tiny, by hand\n+# tiny\n" in said.out
    assert "HR502" in said.err
    assert "+# tiny" in cli("card", "render", root, "--check", "--json").value["diff"]
    (root / "README.md").write_text(card)
    assert cli("card", "render", root, "--check").code == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [(lambda card: card.replace("\n", "\r\n"), "(CRLF)"), (lambda card: card.rstrip("\n"), "(no line end)"), (lambda card: b"\xff" + card.encode(), "\\xff")],
    ids=["line ends", "last line", "bytes"],
)  # fmt: skip
def test_check_shows_a_difference_that_is_not_in_words(tmp_path: Path, cli: Cli, change: Any, words: str) -> None:
    root = folder(tmp_path, MINIMAL)
    changed = change(cli("card", "render", root).out)
    (root / "README.md").write_bytes(changed if isinstance(changed, bytes) else changed.encode())
    said = cli("card", "render", root, "--check")
    assert said.code == 1
    assert words in said.out


def test_check_of_a_card_that_is_not_there_shows_it_whole(tmp_path: Path, cli: Cli) -> None:
    said = cli("card", "render", folder(tmp_path, MINIMAL), "--check")
    assert (said.code, "+# tiny" in said.out) == (1, True)


def test_check_and_output_do_not_go_together(tmp_path: Path, cli: Cli) -> None:
    assert cli("card", "render", folder(tmp_path, MINIMAL), "--check", "-o", tmp_path / "x").code == 2
    assert not (tmp_path / "x").exists()


# ---------------------------------------------------------------------------------------------------------- trees


def test_a_tree_that_is_no_whole_release_is_told_so(tmp_path: Path, cli: Cli) -> None:
    root = folder(tmp_path / "p", MINIMAL)
    whole = tiny.release(tmp_path / "r")
    assert cli("card", "render", root, "--tree", whole).code == 0
    (whole / "model.safetensors").unlink()
    said = cli("card", "render", root, "--tree", whole, "--json")
    assert (said.code, "model.safetensors" in said.problems[0]["message"]) == (3, True)
    assert cli("card", "render", root, "--tree", tmp_path / "absent").code == 3
    assert cli("card", "render", root, "--tree", root).code == 3


def test_a_tree_with_broken_weights_or_provenance_is_told_so(tmp_path: Path, cli: Cli) -> None:
    root = folder(tmp_path / "p", MINIMAL)
    whole = tiny.release(tmp_path / "r", {"model.safetensors": b"\xff" * 100})
    assert cli("card", "render", root, "--tree", whole, "--json").kinds == ["weights-unusable"]
    (whole / tiny.PROVENANCE).write_text("{}")
    assert cli("card", "render", root, "--tree", whole, "--json").code == 1


@pytest.mark.parametrize(
    "report", [b"{", b"[]", b'"x"', b'{"result": "pass", "subject": {"payloadDigest": "other"}}', b'{"result": "pass"}'], ids=repr
)
def test_a_report_of_other_files_says_nothing_of_these(tmp_path: Path, cli: Cli, report: bytes) -> None:
    """A pass of earlier weights must not be carried over to new ones."""
    root = folder(tmp_path / "p", MINIMAL)
    whole = tiny.release(tmp_path / "r", {"benchmarks/release-validation.json": report})
    assert "This release has not been run on a GPU" in cli("card", "render", root, "--tree", whole).out
