"""Every command, exit code, schema and finding is explained where people look for it."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from jsonschema import Draft202012Validator

import hubrelease
from hubrelease import checks as check_modules
from hubrelease import resources, strict_yaml
from hubrelease.checks import checks
from hubrelease.codes import CODES
from hubrelease.commands import COMMANDS, group
from hubrelease.errors import Exit
from hubrelease.schema_problems import validate
from hubrelease.verify_release import CODES as ALONE

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
KINDS = {check.kind: check.code for check in checks()} | {kind: code.code for kind, code in CODES.items()}
LABELS = ("Why it matters:", "Mend:", "Source:")


def command(name: str) -> click.Command:
    found = group.get_command(click.Context(group), name)
    assert found is not None
    return found


def documented(name: str) -> Iterator[tuple[str, click.Command]]:
    """(words, command) of a command, or of the commands in it."""
    found = command(name)
    if isinstance(found, click.Group):
        yield from ((f"{name} {inner}", sub) for inner, sub in found.commands.items())
    else:
        yield name, found


# ------------------------------------------------------------------------------------------------------------ README.md


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_stands_in_the_readme(name: str) -> None:
    for words, _ in documented(name):
        assert re.search(rf"^\| `hubrelease {words}\b", README, re.M), f"no row for {words}"


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_the_readme_names_is_one(name: str) -> None:
    for words, found in documented(name):
        row = next((line for line in README.splitlines() if line.startswith(f"| `hubrelease {words}")), "| |")
        known = {option for parameter in found.params for option in parameter.opts}
        assert set(re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)", row.split("|")[1])) <= known


@pytest.mark.parametrize("code", Exit)
def test_an_exit_code_stands_in_the_readme(code: Exit) -> None:
    assert re.search(rf"^\| {int(code)} \| \w", README, re.M)


def test_the_readmes_example_of_a_spec_is_one() -> None:
    text = re.search(r"```yaml\n(.*?)```", README, re.S)
    assert text
    node = strict_yaml.compose(text[1].encode(), "README.md")
    schema = resources.schema("release")
    assert validate(strict_yaml.typed(node, schema), schema, lambda pointer: hubrelease.errors.Where("README.md", None, pointer)) == []


def test_the_readmes_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_public_names_stand_in_the_readme() -> None:
    for name in hubrelease.__all__:
        assert name == "__version__" or f"hubrelease.{name}(" in README


# --------------------------------------------------------------------------------------------------------------- schemas


@pytest.mark.parametrize("file", sorted((ROOT / "schemas").glob("*.json")), ids=lambda file: file.name)
def test_a_schema_stands_in_the_list_of_formats(file: Path) -> None:
    listed = (ROOT / "schemas" / "README.md").read_text("utf-8")
    assert f"]({file.name})" in listed
    Draft202012Validator.check_schema(json.loads(file.read_bytes()))


# -------------------------------------------------------------------------------------------------------------- findings


@pytest.mark.parametrize("name", sorted(module.name for module in pkgutil.iter_modules(check_modules.__path__)))
def test_a_check_says_what_it_finds_why_that_matters_and_how_to_mend_it(name: str) -> None:
    module = importlib.import_module(f"hubrelease.checks.{name}")
    assert name.startswith(module.CHECK.code.lower() + "_")
    text = module.__doc__ or ""
    assert [label for label in LABELS if label in text] == list(LABELS)
    assert text.index(LABELS[0]) < text.index(LABELS[1]) < text.index(LABELS[2])
    assert all(part.strip() for part in re.split("|".join(LABELS), text))


@pytest.mark.parametrize("kind", CODES)
def test_a_problem_says_what_it_means_why_that_matters_and_how_to_mend_it(kind: str) -> None:
    code = CODES[kind]
    assert re.fullmatch(r"HR[1-7]\d\d", code.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind)
    assert all(text.endswith(".") for text in (code.means, code.why))
    assert code.mend.endswith((".", "`"))


def test_no_code_has_two_meanings() -> None:
    found = Counter([*(check.code for check in checks()), *(code.code for code in CODES.values())])
    assert [code for code, times in found.items() if times > 1] == []


def test_the_stand_alone_verifier_has_the_same_codes() -> None:
    assert {kind: KINDS.get(kind) for kind in ALONE} == ALONE


def test_every_kind_that_the_source_names_has_a_code() -> None:
    texts = [file.read_text("utf-8") for file in (ROOT / "src" / "hubrelease").rglob("*.py") if file.name != "codes.py"]
    used = {kind for text in texts for kind in re.findall(r"(?<![.\w])problem\(\s*\"([a-z-]+)\",", text)}
    assert used - set(CODES) == set()
    assert [kind for kind in CODES if not any(f'"{kind}"' in text for text in texts)] == []


# --------------------------------------------------------------------------------------------------------------- commands


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself_and_each_option(name: str) -> None:
    for words, found in documented(name):
        assert (found.help or "").strip()
        assert (found.epilog or "").startswith(f"Example: hubrelease {words}")
        for parameter in found.params:
            assert not isinstance(parameter, click.Option) or parameter.help, parameter.name
