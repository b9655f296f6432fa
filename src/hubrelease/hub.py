"""The Hub as we need it, and its one real implementation. The only module that imports huggingface_hub.

Everything that can go wrong outside becomes an OutsideError with the repository, what the server said and a mend; a
token's value never appears. Calls that huggingface_hub does not repeat by itself are repeated here on 429 (honouring
Retry-After) and 5xx.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True)
class HuggingFaceHub:
    """huggingface_hub with its own environment variables (HF_ENDPOINT, HF_TOKEN, HF_HOME, HF_HUB_OFFLINE)."""

    offline: bool = False

    def resolve(self, repo: str, revision: str) -> RemoteRevision:
        if self.offline:
            raise offline(f"hf://{repo}@{revision}")
        with translated(repo, revision):
            info = patiently(lambda: self.api().model_info(repo, revision=revision))
        card = info.card_data.to_dict() if info.card_data else {}
        stated = card.get("license")
        return RemoteRevision(str(info.sha), stated if isinstance(stated, str) else None, bool(info.private))

    def tree(self, repo: str, commit: str) -> tuple[RemoteFile, ...]:
        if self.offline:
            raise offline(f"hf://{repo}@{commit}")
        with translated(repo, commit):
            listed = patiently(lambda: list(self.api().list_repo_tree(repo, recursive=True, revision=commit)))
        files = [f for f in listed if hasattr(f, "blob_id")]
        return tuple(RemoteFile(f.path, f.size, f.lfs.sha256 if f.lfs else None, f.blob_id) for f in files)

    def fetch(self, repo: str, commit: str, path: str) -> Path:
        from huggingface_hub import hf_hub_download

        with translated(repo, commit, path):
            found = hf_hub_download(
                repo,
                path,
                revision=commit,
                library_name="hubrelease",
                tqdm_class=quiet_bar(),
                local_files_only=self.offline,
            )
        return Path(os.path.realpath(found))

    @staticmethod
    def api() -> Any:
        from huggingface_hub import HfApi

        from hubrelease import __version__

        return HfApi(library_name="hubrelease", library_version=__version__)


def quiet_bar() -> Any:
    """huggingface_hub draws its own bars unless given a class that draws none."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    class Quiet(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            super().__init__(*args, **{**kwargs, "disable": True})

    return Quiet


def patiently(call: Callable[[], T]) -> T:
    """`call()`, repeated on 429 and 5xx and on a cut connection; the last failure is raised."""
    from httpx2 import HTTPError  # huggingface_hub's own HTTP library

    for attempt in range(TRIES):
        try:
            return call()
        except HTTPError as error:
            wait = wait_for(error, attempt)
            if wait is None or attempt == TRIES - 1:
                raise
            time.sleep(wait)
    raise AssertionError("unreachable")


def wait_for(error: Any, attempt: int) -> float | None:
    """Seconds to wait before the next try, None where another try would not help."""
    response = getattr(error, "response", None)
    if response is None:
        return float(2**attempt) * 0.5
    if response.status_code != 429 and response.status_code < 500:
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
        lost = isinstance(cause, (httpx2.HTTPError, errors.HfHubHTTPError))
        raise (unreachable(place, cause) if cause and lost else offline(place)) from None
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
    except errors.HfHubHTTPError as error:
        said = error.server_message or "no message"
        raise failed(place, f"the Hub answered {error.response.status_code}: {said}", "try again later") from None
    except (httpx2.HTTPError, OSError) as error:
        raise unreachable(place, error) from None


def offline(place: str) -> OutsideError:
    mend = "run once without --offline and HF_HUB_OFFLINE"
    return OutsideError(problem("offline", place, "is needed, is not in the cache, and the network is switched off", mend))


def unreachable(place: str, error: BaseException) -> OutsideError:
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return failed(place, f"could not be reached: {first}", "check the network and HF_ENDPOINT, then run again")


def failed(place: str, message: str, mend: str) -> OutsideError:
    return OutsideError(problem("source-unreachable", place, message, mend))
