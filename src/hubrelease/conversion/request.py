"""What to convert and how, from the command line's texts or from a spec's weights section."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hubrelease.conversion.convert import Request
from hubrelease.conversion.rules import Wishes
from hubrelease.errors import OutsideError, SpecError, Where, problem
from hubrelease.formats import Format, PathMissing, named
from hubrelease.strict_yaml import plain_value


def form_for(name: str, options: dict[str, Any], device: str, where: Where) -> Format:
    """The format with its options, able to run on `device`. SpecError for options it lacks, OutsideError for a path it lacks."""
    try:
        form = named(name, options)
        form.encoder(device)
    except (ValueError, TypeError) as error:
        raise SpecError(problem("spec-invalid", where, str(error), "see docs/formats.md for the options of each format")) from None
    except PathMissing as error:
        raise OutsideError(problem("tool-missing", where, f"{name} can't run on {device}: {error}", "install what is named")) from None
    return form


def request_for(name: str, device: str, include: Sequence[str] | None, exclude: Sequence[str], scales: str | None,
                options: Sequence[str]) -> Request:  # fmt: skip
    """The Request of a command line."""
    where = Where("command line")
    pairs = [option.partition("=") for option in options]
    form = form_for(name, {key: plain_value(value) for key, _, value in pairs}, device, where)
    wishes = Wishes(tuple(include) if include is not None else None, tuple(exclude))
    return Request(form, device, None, wishes, (scales, read(scales)) if scales else None, where)


def read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise OutsideError(
            problem("local-file-missing", path, f"could not be read: {error.strerror}", "name the file with activation scales")
        ) from None
