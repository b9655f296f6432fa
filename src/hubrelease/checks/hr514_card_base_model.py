"""An id in the card's metadata (base_model, datasets, new_version) is a local path, or none that the Hub can have.

Why it matters: trainers write the folder that a model was loaded from; the Hub refuses the commit, after the weights went up.
Mend: Write the repository's id, namespace/name.
Source: huggingface/trl issue 1873; huggingface/transformers issue 32212; huggingface/autotrain-advanced issue 648 (datasets);
espnet/espnet_model_zoo PR 102 (a dataset named in prose). An id that is well formed and yet hardly meant (the release itself,
another base than provenance has) is a warning: the Hub takes it.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.dependencies import base_of
from hubrelease.errors import Problem, Where
from hubrelease.front_matter import FrontMatter, is_blank, items_of, kind_of, texts_of
from hubrelease.hub_lists import is_local_path, is_repo_id, is_training_folder
from hubrelease.release import Release
from hubrelease.strict_yaml import Node, Scalar, Sequence, pointer_to
from hubrelease.subjects import URL

MEND = "write the repository's id, namespace/name"


def run(release: Release) -> Iterator[Problem]:
    if release.card is None:
        return
    front = release.card.front
    for key in ("base_model", "new_version"):
        for item, pointer in placed(front, key):
            yield from reference_problems(key, item, pointer)
    for item, pointer in placed(front, "datasets"):
        if isinstance(item, Scalar) and kind_of(item) == "string" and item.text.strip():  # other kinds: card-model-index
            yield from id_problems("datasets", item, pointer)
    yield from tag_problems(front)
    yield from odd_bases(release, front)


def placed(front: FrontMatter, key: str) -> Iterator[tuple[Node, str]]:
    node = front.get(key)
    for number, item in enumerate(items_of(node)):
        yield item, pointer_to(key, number) if isinstance(node, Sequence) else pointer_to(key)


def reference_problems(key: str, item: Node, pointer: str) -> Iterator[Problem]:
    where = Where(FILE, item.line, pointer)
    if is_blank(item):
        yield CHECK.problem(where, f"{key} has no value", f"{MEND}, or leave the key out")
    elif not isinstance(item, Scalar) or kind_of(item) != "string":
        yield CHECK.problem(where, f"{key} holds a {kind_of(item)} where an id belongs", MEND)
    else:
        yield from id_problems(key, item, pointer)


def id_problems(key: str, item: Scalar, pointer: str) -> Iterator[Problem]:
    where, text = Where(FILE, item.line, pointer), item.text.strip()
    if is_local_path(text) or (key != "datasets" and is_training_folder(text)):
        yield CHECK.problem(where, f'{key} is "{text[:80]}", a path of the maker\'s disk', MEND)
    elif not is_repo_id(text):
        plain = URL.sub("", text).removeprefix("datasets/").rstrip("/")
        mend = f"write {plain}" if plain != text and is_repo_id(plain) else MEND
        yield CHECK.problem(where, f'{key} is "{text[:80]}", which is no id of the Hub', mend)


def tag_problems(front: FrontMatter) -> Iterator[Problem]:
    """PEFT repeats the base in a tag: base_model:adapter:<id>."""
    for item, pointer in placed(front, "tags"):
        if isinstance(item, Scalar) and item.text.startswith("base_model:") and is_local_path(name := item.text.split(":", 2)[-1]):
            yield CHECK.problem(Where(FILE, item.line, pointer), f'a tag names "{name[:80]}", a path of the maker\'s disk', MEND)


def odd_bases(release: Release, front: FrontMatter) -> Iterator[Problem]:
    stated = [item for item in texts_of(front.get("base_model")) if is_repo_id(text := item.text.strip()) and not is_training_folder(text)]
    names = {item.text.strip().lower() for item in stated}
    own = {name.lower() for name in release.subjects.own}
    for item in stated:
        if item.text.strip().lower() in own:
            message = f'base_model is "{item.text[:80]}", the release itself'
            yield CHECK.problem(Where(FILE, item.line, "/base_model"), message, "name the model that it was made from", severity="warning")
    base = base_of(release)
    if not names or names & own or base is None or base.repository is None or base.repository.lower() in names | own:
        return
    message = f'base_model is "{stated[0].text[:80]}", and provenance says that the base is {base.repository[:80]}'
    mend = "name what the release was made from, or correct release.yaml"
    if not is_stated_in_spec(release):
        yield CHECK.problem(Where(FILE, stated[0].line, "/base_model"), message, mend, severity="warning")


def is_stated_in_spec(release: Release) -> bool:
    """True where release.yaml itself gives card.base_model: then another base than the source is meant."""
    card = release.spec.get("card")
    return isinstance(card, dict) and bool(card.get("base_model"))


CHECK = Check("HR514", "card-base-model", "id in the card that is none of the Hub", run)
