"""What a card's text claims of the weights: sizes, shards, counts of parameters, tensors and quantised weights.

Only sentences that can mean one thing are taken: an exact number, a labelled size, a row that names a file. A sentence that
speaks of a base, of memory, of training or of active parameters says nothing of these files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from hubrelease.card_text import Card, Line, Table
from hubrelease.claim_words import key, words

UNITS = {"kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
SIZE = re.compile(r"[~≈]?\s?(\d{1,6}(?:\.\d{1,6})?)\s?(kB|KB|MB|GB|TB|KiB|MiB|GiB|TiB)\b")
ELSEWHERE = re.compile(
    r"(?i)\b(base|original|upstream|source|teacher|parent|unquanti[sz]ed|bf16 (model|version|checkpoint)|from|versus|vs|compared|instead"
    r"|down|corpus|data|dataset|training|trained|trainable|active|activated|non-?embedding|per|each|expert|adapter|lora|draft|gpus?|vram"
    r"|ram|memory|merged)\b"
)
LABELS = words(
    "modelsize checkpointsize weightssize weightsize totalsize disksize sizeondisk diskusage downloadsize totalweightsize filesize"
)
FILE_COLUMNS, SIZE_COLUMNS = words("file files filename name shard"), words("size filesize")
LABELLED = re.compile(r"(?:[-*+]\s*)?([A-Za-z][A-Za-z ()/]{2,40}?)\s*[:：]\s*(.+)")
OWN_SENTENCE = re.compile(  # templates/card.md.j2
    r"(?P<tensors>\d[\d,]{0,20}) tensors with (?P<parameters>\d[\d,]{0,20}) parameters in (?P<files>[\d,]{1,9}) weight files?,"
    r" (?P<size>[\d,.]{1,20} (?:bytes|kB|MB|GB)) in all\."
)
SHARDS = re.compile(r"(?i)\b(\d{1,5})\s+(?:safetensors\s+)?(?:weight\s+)?shards\b")
PARAMETERS = re.compile(r"(?i)\b(\d{1,3}(?:,\d{3}){2,5})\s+(?:total\s+)?(?:parameters|params)\b")
TENSORS = re.compile(r"(?i)\b(\d{1,3}(?:,\d{3}){1,5}|\d{2,6})\s+tensors\b(?! parallel)")
QUANTISED = re.compile(
    r"(?i)\b(\d{1,3}(?:,\d{3})+|\d{2,6})\s+quanti[sz]ed\s+(?:expert\s+|linear\s+)?(?:weights|linears|layers|modules|tensors)\b"
)


class SizeClaim(NamedTuple):
    """`kind`: size, file, shards, parameters, tensors, quantised; "own …" in the template's sentence. `value` is a count, or a
    size as text; `subject` is a file's name.
    """

    kind: str
    line: int
    value: str
    subject: str = ""


def size_claims(card: Card) -> Iterator[SizeClaim]:
    """The claims of prose and tables. A count that is claimed twice with different numbers is no claim of the whole."""
    for line in card.prose:
        yield from own_claims(line)
        yield from labelled(line)
    for kind, form in (("shards", SHARDS), ("parameters", PARAMETERS), ("tensors", TENSORS), ("quantised", QUANTISED)):
        yield from single(kind, form, card)
    for table in card.tables:
        yield from file_rows(table)
        yield from size_rows(table)


def own_claims(line: Line) -> Iterator[SizeClaim]:
    """The sentence that hubrelease's own template writes: everything in it is meant exactly."""
    if found := OWN_SENTENCE.search(line.text):
        for kind in ("tensors", "parameters", "files", "size"):
            yield SizeClaim("own " + kind, line.number, found[kind])


def labelled(line: Line) -> Iterator[SizeClaim]:
    """A line such as "Model size: 5.6 GB"."""
    found = LABELLED.fullmatch(line.text)
    if found and key(found[1]) in LABELS and (size := SIZE.fullmatch(found[2].strip(" .*"))):
        yield SizeClaim("size", line.number, size[0])


def single(kind: str, form: re.Pattern[str], card: Card) -> Iterator[SizeClaim]:
    found = [(line, match) for line in card.prose for match in form.finditer(line.text) if not OWN_SENTENCE.search(line.text)]
    is_elsewhere = any(ELSEWHERE.search(line.text[: match.start()] + line.text[match.end() :]) for line, match in found)
    if len({match[1].replace(",", "") for _, match in found}) == 1 and not is_elsewhere:
        yield SizeClaim(kind, found[0][0].number, found[0][1][1])


def file_rows(table: Table) -> Iterator[SizeClaim]:
    """Rows that name a file and its size."""
    names = [n for n, header in enumerate(table.headers) if key(header) in FILE_COLUMNS]
    sizes = [n for n, header in enumerate(table.headers) if key(header) in SIZE_COLUMNS]
    if len(names) == 1 and len(sizes) == 1:
        for row in table.rows:
            if size := SIZE.fullmatch(row.cells[sizes[0]]):
                yield SizeClaim("file", row.line, size[0], row.cells[names[0]])


def size_rows(table: Table) -> Iterator[SizeClaim]:
    """A table of properties: two columns, the label and the value."""
    for row in table.rows if len(table.headers) == 2 else ():
        if key(row.cells[0]) in LABELS and (size := SIZE.fullmatch(row.cells[1])):
            yield SizeClaim("size", row.line, size[0])


def bytes_of(text: str) -> tuple[Decimal, Decimal]:
    """(bytes in the unit as written, bytes if a decimal unit was meant as a binary one)."""
    found = SIZE.search(text)
    if found is None:
        return Decimal(0), Decimal(0)
    number, unit = Decimal(found[1]), found[2]
    binary = unit[0].upper() + "iB"
    return number * UNITS[unit], number * UNITS[binary]
