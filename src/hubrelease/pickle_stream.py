"""The opcodes of one pickle, followed as far as the names of its imports need it; nothing is ever called.

Opcodes are those of CPython's Modules/_pickle.c, protocols 0 to 5. The stack and the memo are kept for strings alone: from
them STACK_GLOBAL takes its names. An unpickler runs as it reads, so what stands before a fault counts.
"""

from __future__ import annotations

import codecs
import re

from hubrelease.archives import CHUNK_BYTES, Window

MAX_IMPORTS = 10_000
LINE_BYTES = 8192
KEPT_TEXT = 256  # bytes of a string that may be the name of an import
NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
STARTS = b"(c]}"  # what a container or an object of protocol 0 or 1 begins with; bare numbers and strings run nothing
HIDDEN = ("", "(a computed name)")
Import = tuple[str, str]  # module and name


class NotAPickle(Exception):
    """The bytes at `position` are no opcode, or there are too few of them."""


MARK = object()
FIXED = {  # opcodes with an argument of so many bytes
    0x4A: 4, 0x4B: 1, 0x4D: 2, 0x47: 8, 0x80: 1, 0x82: 1, 0x83: 2, 0x84: 4, 0x95: 8, 0x68: 1, 0x6A: 4, 0x71: 1, 0x72: 4,
}  # fmt: skip
SIZED = {0x54: 4, 0x55: 1, 0x58: 4, 0x8A: 1, 0x8B: 4, 0x42: 4, 0x43: 1, 0x8C: 1, 0x8D: 8, 0x8E: 8, 0x96: 8}  # … of a length, then as much
LINES = {0x46: 1, 0x49: 1, 0x4C: 1, 0x50: 1, 0x53: 1, 0x56: 1, 0x63: 2, 0x67: 1, 0x69: 2, 0x70: 1}  # … of so many lines
TEXTS = frozenset((0x54, 0x55, 0x58, 0x8C, 0x8D))  # sized ones that are strings
EFFECT = {  # (popped, pushed)
    0x30: (1, 0), 0x46: (0, 1), 0x49: (0, 1), 0x4A: (0, 1), 0x4B: (0, 1), 0x4C: (0, 1), 0x4D: (0, 1), 0x4E: (0, 1), 0x50: (0, 1),
    0x51: (1, 1), 0x52: (2, 1), 0x47: (0, 1), 0x61: (1, 0), 0x62: (1, 0), 0x7D: (0, 1), 0x5D: (0, 1), 0x29: (0, 1), 0x73: (2, 0),
    0x81: (2, 1), 0x82: (0, 1), 0x83: (0, 1), 0x84: (0, 1), 0x85: (1, 1), 0x86: (2, 1), 0x87: (3, 1), 0x88: (0, 1), 0x89: (0, 1),
    0x8A: (0, 1), 0x8B: (0, 1), 0x42: (0, 1), 0x43: (0, 1), 0x8E: (0, 1), 0x8F: (0, 1), 0x92: (3, 1), 0x96: (0, 1), 0x97: (0, 1),
    0x80: (0, 0), 0x95: (0, 0), 0x98: (0, 0),
}  # fmt: skip
TO_MARK = {0x31: 0, 0x64: 1, 0x65: 0, 0x69: 1, 0x6C: 1, 0x6F: 1, 0x74: 1, 0x75: 0, 0x90: 0, 0x91: 1}  # pops to the mark, pushes so many
CALLS = frozenset((0x52, 0x62, 0x69, 0x6F, 0x81, 0x92))
PUTS, GETS = {0x70, 0x71, 0x72, 0x94}, {0x67, 0x68, 0x6A}


class Stream:
    """One pickle from `position` on. `end` is behind its STOP, None where it has none; `exhausted` where the budget ran out."""

    def __init__(self, window: Window, position: int, budget: int) -> None:
        self.window, self.position, self.budget = window, position, budget
        self.chunk, self.base = b"", 0
        self.stack: list[object] = []
        self.memo: dict[int, str] = {}
        self.kept: set[int] = set()  # every key of the memo: MEMOIZE counts them
        self.imports: set[Import] = set()
        self.opcodes, self.calls, self.structures = 0, 0, 0
        self.end: int | None = None
        self.exhausted, self.depth = False, 0

    def convincing(self, framed: bool) -> bool:
        """Is this a pickle, rather than a text or an image that happens to begin like one?"""
        names = all(NAME.fullmatch(step) for pair in self.imports for step in pair)
        if framed:
            return self.end is not None or self.opcodes >= 8 or (bool(self.imports) and names)
        if self.end is None:
            return self.exhausted or (self.calls > 0 and bool(self.imports) and names)
        behind = self.window.read(self.end, 1)
        alone = behind in (b"", b"\n", b"\x80") or behind in STARTS  # the end of the file, or another pickle
        runs = self.calls > 0 and bool(self.imports)  # an unpickler does not look at what comes behind
        return names and self.depth == 1 and (runs or (alone and self.structures > 0))

    def follow(self) -> None:
        """Goes through the opcodes up to STOP, the end of the budget, or bytes that are none."""
        try:
            while self.opcodes < self.budget:
                if self.step():
                    self.end, self.depth = self.position, len(self.stack)
                    return
            self.exhausted = True
        except NotAPickle:
            return

    def step(self) -> bool:
        start = self.position
        code = self.take(1)[0]
        self.opcodes += 1
        if code == 0x2E:
            return True
        try:
            self.apply(code)
        except NotAPickle:
            self.position = start
            raise
        return False

    def apply(self, code: int) -> None:
        if code == 0x28:
            self.stack.append(MARK)
        elif code in LINES:
            self.apply_lines(code)
        elif code in TEXTS:
            self.push_text(code)
        elif code in PUTS or code in GETS:
            self.remember(code, self.index(code))
        elif code == 0x93:
            name, module = self.pop(), self.pop()
            self.push_import(module, name)
        elif code == 0x32:
            self.stack.append(self.stack[-1] if self.stack else None)
        elif code in TO_MARK:
            self.pop_to_mark(TO_MARK[code])
            self.calls += code in CALLS
        elif code in EFFECT:
            self.skip(FIXED.get(code, 0) if code not in SIZED else self.length(code))
            self.apply_effect(code)
        else:
            raise NotAPickle

    def apply_effect(self, code: int) -> None:
        popped, pushed = EFFECT[code]
        for _ in range(popped):
            self.pop()
        if pushed:
            self.stack.append(None)
        self.calls += code in CALLS
        self.structures += code in (0x7D, 0x5D)

    def apply_lines(self, code: int) -> None:
        lines = [self.line() for _ in range(LINES[code])]
        if code in (0x63, 0x69):
            if code == 0x69:
                self.pop_to_mark(0)
                self.calls += 1
            self.push_import(*(text.decode("utf-8", "backslashreplace") for text in lines))
        elif code == 0x53:
            self.stack.append(unescaped(lines[0]))
        elif code == 0x56:
            self.stack.append(lines[0].decode("raw-unicode-escape", "backslashreplace")[:KEPT_TEXT])
        elif code in (0x67, 0x70):
            self.remember(code, number(lines[0]))
        else:
            if code != 0x50:
                number(lines[0].rstrip(b"L")) if code != 0x46 else real(lines[0])
            self.stack.append(None)

    def index(self, code: int) -> int:
        return len(self.kept) if code == 0x94 else int.from_bytes(self.take(FIXED[code]), "little")

    def remember(self, code: int, key: int) -> None:
        if code in GETS:
            if key not in self.kept:
                raise NotAPickle
            self.stack.append(self.memo.get(key))
            return
        self.kept.add(key)
        top = self.stack[-1] if self.stack else None
        if isinstance(top, str):
            self.memo[key] = top
        else:
            self.memo.pop(key, None)

    def push_text(self, code: int) -> None:
        length = self.length(code)
        if length > KEPT_TEXT:  # no name of an import is as long
            self.skip(length)
            self.stack.append(None)
        else:
            self.stack.append(self.take(length).decode("utf-8", "backslashreplace"))

    def push_import(self, module: object, name: object) -> None:
        known = isinstance(module, str) and isinstance(name, str)
        if len(self.imports) < MAX_IMPORTS:
            self.imports.add((str(module)[:KEPT_TEXT], str(name)[:KEPT_TEXT]) if known else HIDDEN)
        self.stack.append(None)

    def pop(self) -> object:
        """The top of the stack. An empty one is no reason to stop: what ran before has run."""
        return self.stack.pop() if self.stack else None

    def pop_to_mark(self, pushed: int) -> None:
        while self.stack and self.stack.pop() is not MARK:
            pass
        if pushed:
            self.stack.append(None)
            self.structures += 1

    # reading

    def length(self, code: int) -> int:
        return int.from_bytes(self.take(SIZED[code]), "little")

    def take(self, count: int) -> bytes:
        at = self.position - self.base
        if at + count > len(self.chunk):
            self.chunk, self.base, at = self.window.read(self.position, max(count, CHUNK_BYTES)), self.position, 0
            if len(self.chunk) < count:
                raise NotAPickle
        self.position += count
        return self.chunk[at : at + count]

    def skip(self, count: int) -> None:
        if count > self.window.size - self.position:
            raise NotAPickle
        self.position += count

    def line(self) -> bytes:
        """Up to the next line end, which is left out; what is longer than any name is cut."""
        kept = b""
        while True:
            self.position += len(piece := self.peek())
            at = piece.find(b"\n")
            kept += (piece if at < 0 else piece[:at])[: LINE_BYTES - len(kept)]
            if at >= 0:
                self.position += at + 1 - len(piece)
                return kept

    def peek(self) -> bytes:
        """Some bytes from here on."""
        if not self.base <= self.position < self.base + len(self.chunk):
            self.chunk, self.base = self.window.read(self.position, CHUNK_BYTES), self.position
            if not self.chunk:
                raise NotAPickle
        at = self.position - self.base
        return self.chunk[at : at + LINE_BYTES]


def number(text: bytes) -> int:
    if not re.fullmatch(rb"\s*-?\d{1,4000}\s*", text):
        raise NotAPickle
    return int(text)


def real(text: bytes) -> None:
    try:
        float(text)
    except ValueError:
        raise NotAPickle from None


def unescaped(text: bytes) -> str:
    """The string of a quoted line of protocol 0, whose escapes could hide a name."""
    text = text.strip()
    if len(text) < 2 or text[:1] != text[-1:] or text[:1] not in b"'\"":
        raise NotAPickle
    try:
        return codecs.escape_decode(text[1:-1])[0].decode("utf-8", "backslashreplace")[:KEPT_TEXT]
    except ValueError:
        raise NotAPickle from None
