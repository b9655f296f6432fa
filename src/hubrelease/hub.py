"""The Hub as we need it, and its one real implementation. The only module that imports huggingface_hub.

Everything that can go wrong outside becomes an OutsideError with the repository, what the server said and a mend; a
token's value never appears. What huggingface_hub does not repeat by itself is repeated here: on 429 (honouring
Retry-After), on 5xx and on a cut connection.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hubrelease.errors import OutsideError, problem

T = TypeVar("T")
TRIES, LONGEST_WAIT_S = 4, 60.0


@dataclass(frozen=True, slots=True)
class RemoteRevision:
    """A commit of a repository: 40 hex, the licence that its card states, whether the repository is private."""

    commit: str
    license: str | None
    private: bool


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as the Hub lists it: sha256 for LFS and Xet files, else the git blob id (sha1)."""

    path: str
    size: int
    sha256: str | None
    blob_id: str


class Hub(Protocol):
    def resolve(self, repo: str, revision: str) -> RemoteRevision:
        """The commit that `revision` is now."""

    def tree(self, repo: str, commit: str) -> tuple[RemoteFile, ...]:
        """Every file of a commit."""

    def fetch(self, repo: str, commit: str, path: str) -> Path:
        """A file in the local cache, downloaded if it is not there. Its bytes are not yet checked."""

    def read_range(self, repo: str, commit: str, path: str, start: int, size: int) -> bytes:
        """`size` bytes of a file from `start`, or fewer at its end, without downloading the rest."""


@dataclass(frozen=True)
class HuggingFaceHub:
    """huggingface_hub with its own environment variables (HF_ENDPOINT, HF_TOKEN, HF_HOME, HF_HUB_OFFLINE)."""

    offline: bool = False

    def resolve(self, repo: str, revision: str) -> RemoteRevision:
        if self.offline:
            raise offline(f"hf://{repo}@{revision}")
        with translated(repo, revision):
            info = patiently(lambda: self.api().model_info(repo, revision=revision, timeout=timeout_s()))
            commit = hex_digits(info.sha, 40)
        card = info.card_data.to_dict() if info.card_data else {}
        stated = card.get("license")
        return RemoteRevision(commit, stated if isinstance(stated, str) else None, bool(info.private))

    def tree(self, repo: str, commit: str) -> tuple[RemoteFile, ...]:
        if self.offline:
            raise offline(f"hf://{repo}@{commit}")
        with translated(repo, commit):
            return tuple(remote_file(row) for row in self.rows(f"{self.api().endpoint}/api/models/{repo}/tree/{commit}?recursive=true"))

    @staticmethod
    def rows(url: str) -> Iterator[Any]:
        """The files of a listing, page by page. HfApi.list_repo_tree would wait for ever on a server that says nothing."""
        from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status  # type: ignore[attr-defined]

        def page(address: str) -> Any:
            answer = get_session().get(address, headers=build_hf_headers(library_name="hubrelease"), timeout=timeout_s())
            hf_raise_for_status(answer)
            return answer

        following: str | None = url
        while following:
            answer = patiently(partial(page, following))
            yield from (row for row in answer.json() if row["type"] == "file")
            following = answer.links.get("next", {}).get("url")

    def fetch(self, repo: str, commit: str, path: str) -> Path:
        from huggingface_hub import hf_hub_download

        with translated(repo, commit, path):
            found = patiently(
                lambda: hf_hub_download(
                    repo,
                    path,
                    revision=commit,
                    library_name="hubrelease",
                    tqdm_class=quiet_bar(),
                    local_files_only=self.offline,
                ),
                is_download=True,
            )
        return Path(os.path.realpath(found))

    def read_range(self, repo: str, commit: str, path: str, start: int, size: int) -> bytes:
        if self.offline:
            raise offline(f"hf://{repo}@{commit}/{path}")
        with translated(repo, commit, path):
            return patiently(lambda: self.ranged(repo, commit, path, start, size))

    @staticmethod
    def ranged(repo: str, commit: str, path: str, start: int, size: int) -> bytes:
        """One range request; a server that ignores ranges is read no further than needed."""
        from huggingface_hub import hf_hub_url
        from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status  # type: ignore[attr-defined]

        headers = {
            **build_hf_headers(library_name="hubrelease"),
            "Range": f"bytes={start}-{start + size - 1}",
            "Accept-Encoding": "identity",
        }
        address = hf_hub_url(repo, path, revision=commit)
        with get_session().stream("GET", address, headers=headers, follow_redirects=True, timeout=timeout_s()) as answer:
            hf_raise_for_status(answer)
            skip = 0 if answer.status_code == 206 else start
            out = bytearray()
            for chunk in answer.iter_bytes(2**16):
                out += chunk
                if len(out) >= skip + size:
                    break
            return bytes(out[skip : skip + size])

    @staticmethod
    def api() -> Any:
        from huggingface_hub import HfApi

        from hubrelease import __version__

        return HfApi(library_name="hubrelease", library_version=__version__)


def remote_file(row: Any) -> RemoteFile:
    """A row of a listing as the Hub answers it. ValueError, LookupError or TypeError where it is none."""
    large = row.get("lfs") or {}
    sha256 = hex_digits(large["oid"], 64) if large else None
    return RemoteFile(str(row["path"]), int(large.get("size", row["size"])), sha256, hex_digits(row["oid"], 40))


def hex_digits(value: object, count: int) -> str:
    if not isinstance(value, str) or not re.fullmatch(f"[0-9a-f]{{{count}}}", value):
        raise ValueError(f"{value!r} is no id of {count} hex digits")
    return value


def timeout_s() -> float:
    """Seconds without a byte after which a server is taken for dead; a listing may take longer than HF_HUB_ETAG_TIMEOUT's one file."""
    from huggingface_hub import constants

    return 3.0 * constants.HF_HUB_ETAG_TIMEOUT


def quiet_bar() -> Any:
    """huggingface_hub draws its own bars unless given a class that draws none."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    class Quiet(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            super().__init__(*args, **{**kwargs, "disable": True})

    return Quiet


def patiently(call: Callable[[], T], is_download: bool = False) -> T:
    """`call()`, repeated on 429 and 5xx and on a cut connection; the last failure is raised."""
    from httpx2 import HTTPError  # huggingface_hub's own HTTP library

    for attempt in range(TRIES):
        try:
            return call()
        except (HTTPError, AttributeError, RuntimeError) as error:
            wait = wait_for(error, attempt, is_download)
            if wait is None or attempt == TRIES - 1:
                raise
            time.sleep(wait)
    raise AssertionError("unreachable")


def wait_for(error: Any, attempt: int, is_download: bool) -> float | None:
    """Seconds to wait before the next try, None where another try would not help, or the client has made its own."""
    from httpx2 import ConnectError, RemoteProtocolError, TimeoutException

    response = getattr(error, "response", None)
    if isinstance(error, (AttributeError, RuntimeError)):
        # A thread that can't connect closes the client that all threads share: the others find it closed, or None.
        return float(2**attempt) * 0.5 if re.search("NoneType|closed", str(error)) else None
    if response is None:
        by_client = is_download and isinstance(error, (ConnectError, TimeoutException, RemoteProtocolError))
        return None if by_client else float(2**attempt) * 0.5
    if response.status_code < (500 if is_download else 429) or 429 < response.status_code < 500:
        return None
    stated = response.headers.get("Retry-After", "")
    return min(float(stated), LONGEST_WAIT_S) if stated.isdigit() else float(2**attempt) * 0.5


@contextmanager
def translated(repo: str, revision: str, path: str | None = None) -> Iterator[None]:
    """huggingface_hub's exceptions as OutsideErrors that say what to do."""
    import httpx2
    from huggingface_hub import errors

    place = f"hf://{repo}@{revision}" + (f"/{path}" if path else "")
    try:
        yield
    except errors.OfflineModeIsEnabled:
        raise offline(place) from None
    except errors.LocalEntryNotFoundError as error:
        cause = error.__cause__
        by_wish = cause is None or isinstance(cause, errors.OfflineModeIsEnabled)
        raise (offline(place) if by_wish else unreachable(place, cause)) from None
    except errors.GatedRepoError:
        raise failed(place, "is gated, and your token has no access", "ask for access on its page, then `hf auth login`") from None
    except errors.RepositoryNotFoundError:
        raise failed(place, "does not exist, or your token may not read it", "correct the name, or `hf auth login`") from None
    except errors.RevisionNotFoundError:
        raise failed(place, f'the repository has no revision "{revision}"', "correct the branch, tag or commit") from None
    except errors.EntryNotFoundError:
        raise failed(place, "is not in that revision", "correct the path") from None
    except errors.HFValidationError as error:
        raise failed(place, f"is no repository id: {error}", "write org/name") from None
    except (httpx2.HTTPError, OSError) as error:
        raise unreachable(place, error) from None
    except (ValueError, LookupError, TypeError) as error:  # a proxy's page where an answer of a Hub should be
        message = f"was not answered as a Hub answers: {first_line(error)}"
        raise failed(place, message, "check HF_ENDPOINT and the proxy, then run again") from None
    except (RuntimeError, AttributeError) as error:  # what hf_xet raises, and see wait_for
        raise unreachable(place, error) from None


def offline(place: str) -> OutsideError:
    mend = "run once without --offline and HF_HUB_OFFLINE"
    return OutsideError(problem("offline", place, "is needed, is not in the cache, and the network is switched off", mend))


def unreachable(place: str, error: BaseException | None) -> OutsideError:
    response = getattr(error, "response", None)
    if isinstance(error, OSError) and error.errno and error.filename and not isinstance(error, ConnectionError):
        mend = "free space, or set HF_HOME to a folder that you may write to"
        return OutsideError(problem("disk-fault", str(error.filename), f"the cache could not be written: {error.strerror}", mend))
    if response is None:
        return failed(place, f"could not be reached: {first_line(error)}", "check the network and HF_ENDPOINT, then run again")
    said = getattr(error, "server_message", None) or response.reason_phrase or "no message"
    return failed(place, f"the Hub answered {response.status_code}: {said}", mend_for(response.status_code))


def first_line(error: BaseException | None) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def mend_for(status: int) -> str:
    if status in (401, 403):
        return "log in with a token that may read it (`hf auth login`, HF_TOKEN)"
    return "try again later" if status == 429 or status >= 500 else "check the name and HF_ENDPOINT"


def failed(place: str, message: str, mend: str) -> OutsideError:
    return OutsideError(problem("source-unreachable", place, message, mend))
