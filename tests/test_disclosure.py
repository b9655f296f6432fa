"""A private repository, and a folder of the author's machine, appear nowhere in a release unless the author allows it."""

import json
import subprocess
from pathlib import Path

import pytest
import tiny
import tiny_upstream
from hub import Hub
from project import UPSTREAM, Project, tree


@pytest.fixture
def private(hub: Hub, author: Project) -> Project:
    hub.repos[UPSTREAM].private = True
    return author


def files_that_say(folder: Path, text: str) -> list[str]:
    return [path for path, data in tree(folder).items() if text.encode() in data]


def test_a_private_repository_is_named_nowhere(private: Project) -> None:
    private.build().good()
    assert files_that_say(private.out, UPSTREAM) == []
    provenance = json.loads((private.out / "MODEL_PROVENANCE.json").read_bytes())["predicate"]["buildDefinition"]
    assert provenance["externalParameters"]["spec"]["sources"]["base_model"]["hf"] == "undisclosed/undisclosed"
    (base,) = provenance["resolvedDependencies"]
    assert base["uri"] == "hf://undisclosed/undisclosed"
    assert base["digest"] == {"gitCommit": private.locked()["gitCommit"]}
    private.near.run("verify", private.out).good()


def test_a_disclosed_repository_is_named(private: Project) -> None:
    private.spec(publish={"disclose": ["base_model"]}).build().good()
    assert files_that_say(private.out, UPSTREAM) == ["MODEL_PROVENANCE.json", "README.md"]


def test_a_name_in_the_author_s_own_words_stops_the_build(private: Project) -> None:
    (private.folder / "card.j2").write_text("{% extends 'card.md.j2' %}{% block usage %}Made from {{ card.base_model }}.{% endblock %}")
    private.spec(card={"template": "card.j2", "base_model": UPSTREAM})
    assert stopped(private) == {"README.md", "MODEL_PROVENANCE.json"}


def test_a_name_in_a_file_of_the_base_stops_the_build(hub: Hub, private: Project) -> None:
    config = json.loads(tiny_upstream.base()["config.json"])
    hub.commit(UPSTREAM, {"config.json": tiny.dumps({**config, "_name_or_path": UPSTREAM})})
    assert stopped(private) == {"config.json"}


def stopped(author: Project) -> set[str]:
    """The files for which the build was refused."""
    refused = author.build()
    assert refused.code == 1, refused.said
    assert set(refused.kinds) == {"source-undisclosed"}
    assert not author.out.exists()
    return {p["file"] for p in refused.problems}


def test_an_adapter_does_not_name_a_private_base(hub: Hub, private: Project) -> None:
    hub.create("upstream/adapter", tiny_upstream.adapter())
    sources = {"base_model": {"hf": UPSTREAM}, "lora": {"hf": "upstream/adapter"}}
    refused = private.spec(sources=sources, adapter={"source": "lora"}).build()
    assert (refused.code, refused.only()["kind"]) == (1, "source-undisclosed")
    private.spec(sources=sources, adapter={"source": "lora"}, publish={"disclose": ["base_model"]}).build().good()


def test_the_address_of_a_repository_on_this_disk_stays_on_this_disk(author: Project, tmp_path: Path) -> None:
    upstream = tmp_path / "work" / "repository"
    tiny.write(upstream, tiny_upstream.base())
    git = ["git", "-C", str(upstream), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], check=True)
    author.spec(sources={"base_model": {"git": f"file://{upstream}"}}, publish={"disclose": ["base_model"]}).near.build().good()
    assert files_that_say(author.out, str(tmp_path)) == []
    assert files_that_say(author.out, "file:///undisclosed") == ["MODEL_PROVENANCE.json", "README.md"]


def test_nothing_of_this_machine_is_in_a_release(author: Project, tmp_path: Path) -> None:
    author.build().good()
    assert files_that_say(author.out, str(tmp_path)) == []
