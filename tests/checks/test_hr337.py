from __future__ import annotations

import time

from meaning import adapter, folder, problems_of


def test_bad_it_is_stopped(tmp_path):
    start = time.monotonic()
    found = problems_of(folder(tmp_path, adapter("plain", lambda config, tensors: config.update(target_modules="(([a-z._0-9]+)+)+X"))))
    assert [(p.kind, p.severity, p.undecided, p.where.file) for p in found] == [
        ("pattern-too-costly", "error", True, "adapter_config.json")
    ]
    assert time.monotonic() - start < 15


def test_good_ordinary_ones(tmp_path):
    assert problems_of(folder(tmp_path, adapter("regex"))) == []
