"""Codes of the problems that are not findings of checks/ (those carry theirs): spec, lock, sources, build.

A code is never reused and a kind never renamed. HR1xx spec, lock and sources; HR2xx tree and weights; HR4xx runtime;
HR5xx card; HR6xx figures.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """A code with what it means, why it matters and how to mend it."""

    code: str
    means: str
    why: str
    mend: str


CODES: dict[str, Code] = {
    "yaml-invalid": Code(
        "HR101",
        "A YAML file can't be read as strict YAML: syntax, a key given twice, an alias, a tag, or bytes that are not UTF-8.",
        "YAML readers differ in what they make of such a file; a release must mean one thing only.",
        "Write the file as plain YAML: mappings, lists and scalars, each key once.",
    ),
    "revision-unpinned": Code(
        "HR102",
        "A source is named by a branch or tag, and no commit is recorded for it.",
        "A branch moves: the same release would be built from other bytes tomorrow.",
        "Run `hubrelease pin`, or write the 40-digit commit.",
    ),
    "spec-invalid": Code(
        "HR103",
        "A value in release.yaml is missing, or is not of the form that the schema asks for.",
        "A release that is guessed from a malformed spec is not the one that was meant.",
        "Write the value in the form that the message names; the schema stands in schemas/release.schema.json.",
    ),
    "spec-unknown-key": Code(
        "HR104",
        "release.yaml holds a key that hubrelease does not know.",
        "A misspelt key would be ignored without a word, and the release would lack what it asks for.",
        "Correct the spelling, or remove the key.",
    ),
    "include-fault": Code(
        "HR105",
        "A file under `include` is absent, lies outside the folder, or includes itself.",
        "The spec must be whole, and must not depend on files that do not travel with it.",
        "Name files inside the folder of release.yaml, by relative paths.",
    ),
    "not-supported": Code(
        "HR106",
        "release.yaml asks for something that this version of hubrelease can't do.",
        "What is asked for and not done must never look as if it had been done.",
        "Remove the key, or use a version that supports it.",
    ),
    "source-invalid": Code(
        "HR107",
        "A source does not say in exactly one way where it comes from.",
        "Each source is pinned by the rules of its kind, so its kind must be plain.",
        "Give one of hf, git, folder, pypi or image.",
    ),
    "image-without-digest": Code(
        "HR108",
        "A container image is named by a tag alone.",
        "A tag moves; an image that built yesterday may not build, or not run, tomorrow.",
        "Find the digest with `docker buildx imagetools inspect IMAGE` and write IMAGE@sha256:DIGEST.",
    ),
    "source-unknown": Code(
        "HR109",
        "A key names a source that is not under `sources`.",
        "The bytes would have no origin.",
        "Correct the name, or add the source.",
    ),
    "local-file-missing": Code(
        "HR110",
        "A file that release.yaml names beside itself is absent, unreadable, or lies outside its folder.",
        "A release can't be built from files that are not there.",
        "Correct the path, or add the file.",
    ),
    "waiver-fault": Code(
        "HR111",
        "A waiver has no reason, fits no finding, or is for a finding that can't be waived.",
        "A waiver that nobody needs hides the next fault.",
        "Remove the waiver, or give its reason.",
    ),
    "lock-stale": Code(
        "HR112",
        "release.lock.json does not fit release.yaml: a source was added, removed or asked for otherwise.",
        "Building from a stale lock would give a release that release.yaml does not describe.",
        "Run `hubrelease pin`.",
    ),
    "lock-invalid": Code(
        "HR113",
        "release.lock.json can't be read.",
        "Without the lock nothing says which bytes were meant.",
        "Restore it from version control, or remove it and run `hubrelease pin`.",
    ),
    "omission-undeclared": Code(
        "HR114",
        "The base has a file that the release would not have, or an omission names no file of the base.",
        "Lost chat templates, processors and MTP weights are the commonest faults of released models.",
        "Add the file under side_files.omit with a reason, or stop leaving it out.",
    ),
    "license-undeclared": Code(
        "HR115",
        "The licence differs from the base's without a stated reason, or its text is missing.",
        "A licence that nobody checked binds everybody who uses the release.",
        "Give license_reason, or correct license; give license_text where upstream ships none.",
    ),
    "source-changed": Code(
        "HR116",
        "A source's bytes are not those of the lock.",
        "The release would not be made from what was pinned.",
        "Local folder: run `hubrelease pin --update NAME`. Download: remove the named file and fetch again.",
    ),
    "source-unreachable": Code(
        "HR117",
        "A source could not be reached or does not exist.",
        "Nothing can be said about bytes that could not be fetched.",
        "Read the message: network, token, spelling of the repository, or a file that is not there.",
    ),
    "offline": Code(
        "HR118",
        "A file is needed that is not on this disk, and the network is switched off.",
        "Offline means offline: nothing is fetched behind your back.",
        "Run once without --offline and HF_HUB_OFFLINE.",
    ),
    "tool-missing": Code(
        "HR119",
        "A program or package that this step needs is not installed.",
        "A step that can't run is never skipped.",
        "Install what the message names.",
    ),
    "target-occupied": Code(
        "HR120",
        "The target folder holds files that a build would lose.",
        "A build replaces its target whole; what it did not write itself could not be brought back.",
        "Move those files away, or choose another --out.",
    ),
    "build-running": Code(
        "HR121",
        "Another build of the same target is running.",
        "Two builds at once would mix their files.",
        "Wait for it, or build to another folder.",
    ),
    "disk-fault": Code(
        "HR122",
        "The disk is full, read-only, or refused a read or a write.",
        "A release is whole or it is not there.",
        "Free space, or choose another --out; the next run goes on from what is finished.",
    ),
    "path-invalid": Code(
        "HR123",
        "A file of a source has a name that can't be part of a release, or two names fall together.",
        "Such a release can't be unpacked on every system.",
        "Rename the file, or leave it out under side_files.omit.",
    ),
    "weights-unusable": Code(
        "HR124",
        "The weights of the source can't be used as asked.",
        "A release with unreadable or missing weights serves nobody.",
        "Read the message; most often a shard is missing or a git-lfs pointer stands in its place.",
    ),
    "source-undisclosed": Code(
        "HR125",
        "A file of the release names a private repository, or a repository on the publisher's own disk.",
        "What is private stays private, and a release must not tell where on a machine it was made.",
        "Take the name out; a private repository may be named if publish.disclose lists its source.",
    ),
    "not-reproducible": Code(
        "HR290",
        "Another build of the same release has other bytes (verify --against). A warning where tensors and values are the same.",
        "Who builds from the same spec and lock should get the same release; otherwise nobody can check where its bytes come from.",
        "Write metadata and JSON with sorted keys; build both with the same versions.",
    ),
    "partial-upload": Code(
        "HR291",
        "A file of the release is not on the remote, or differs there (verify --remote-tree, hf://).",
        "Uploads can report success and lack files; readers would get a broken release.",
        "Upload again, then compare again.",
    ),
    "rederive-differs": Code(
        "HR293",
        "A weight is not what the conversion of the pinned base gives (verify --rederive).",
        "The release's weights did not come from the base that it names, or were changed afterwards.",
        "Don't use the release; ask its publisher. Publishers: convert again.",
    ),
    "rederive-impossible": Code(
        "HR294",
        "The weights can't be derived again: there is no usable conversion_manifest.json, or nothing fits the selection.",
        "What was asked for was not done, so nothing is known.",
        "Read the message.",
    ),
    "remote-extra": Code(
        "HR292",
        "The remote has a file that is not part of the release.",
        "It is downloaded with the release, and nobody has checked it.",
        "Delete it on the remote, or build the release with it.",
    ),
    "identity-mismatch": Code(
        "HR701",
        "The release is not the one that was asked for: another name, version or digest.",
        "A good release of something else is not what you wanted to run.",
        "Fetch the right release, or correct what you expect.",
    ),
    "packages-unpinned": Code(
        "HR401",
        "A package of the runtime has no exact version, or could not be resolved to files with hashes.",
        "A runtime that is resolved anew at each build works one day and not the next.",
        "Write NAME==VERSION for each package, then run `hubrelease pin`.",
    ),
    "runtime-incomplete": Code(
        "HR402",
        "The runtime that release.yaml asks for lacks a package that its code imports, or the files that it serves from.",
        "The image would build, and fail at its first start.",
        "Add what the message names, then run `hubrelease pin`.",
    ),
    "gpu-missing": Code(
        "HR403",
        "There is no GPU here that a validation could run on.",
        "What a release does on a GPU can only be seen on one; nothing was run and nothing was written.",
        "Run it on a machine with the GPU; `hubrelease validate DIR --print-job` prints ready commands.",
    ),
    "server-unreachable": Code(
        "HR404",
        "The server that a validation was to ask does not answer, or never got ready.",
        "Nothing was learnt about the release, and nothing was written.",
        "Start the server, wait until it is ready, then run again.",
    ),
    "validation-check-failed": Code(
        "HR405",
        "A required check of a validation failed.",
        "These bytes, run as their users will run them, did not do what they should.",
        "Read the reason; mend the release and validate again.",
    ),
    "validation-incomplete": Code(
        "HR406",
        "A required check of a validation could not be run, so that the result is not-run.",
        "What was skipped was not seen to work: a skip is no pass.",
        "Validate where the check can be run, or say in release.yaml under validation.not_required why it need not.",
    ),
    "suite-invalid": Code(
        "HR407",
        "The suite of requests for a validation is not of its form.",
        "A request that is not understood would be left out in silence.",
        "See schemas/suite.schema.json.",
    ),
    "template-fault": Code(
        "HR501",
        "A template of the card has an error, or uses a name that nothing defines.",
        "An empty place in a card reads as if nothing were missing.",
        "Correct the template at the line named.",
    ),
    "card-differs": Code(
        "HR502",
        "README.md is not what its data renders to.",
        "A card that was edited by hand, or whose data changed, says something that nothing supports.",
        "Run `hubrelease card render -o README.md`, or `hubrelease seal`.",
    ),
    "text-mark": Code(
        "HR503",
        "The mark of a free-text block of README.md is out of place: doubled, not closed, or no mark at all.",
        "What was written by hand between the marks would be lost when the card is rendered again.",
        "Write `<!-- hubrelease:text NAME -->` and `<!-- /hubrelease:text -->` on lines of their own, each name once.",
    ),
    "figure-fault": Code(
        "HR601",
        "A figure of the card can't be found where it is said to be, or is not a finite number.",
        "The card would show a figure that no receipt holds.",
        "Correct the receipt's path or the pointer.",
    ),
    "receipt-unreadable": Code(
        "HR602",
        "A receipt is not strict JSON (but for NaN and infinities, which are told apart), or is too large to be read.",
        "Figures must be read the same way by everybody.",
        "Write the receipt again as UTF-8 JSON with each key once, and without the samples.",
    ),
    "receipt-kind": Code(
        "HR605",
        "A receipt is of no kind that is known, of two, or not of the one that release.yaml or the receipt itself says.",
        "What was measured, with what and in which unit, would have to be guessed.",
        "Write it as `kind: figures` (schemas/figures.schema.json), or say `kind` in its entry under benchmarks.",
    ),
    "decision-rows-invalid": Code(
        "HR603",
        "A line of a rows file is no run, session or row of a decision benchmark.",
        "A figure over rows of which some can't be read is a figure of something else.",
        "Correct the line, or run `hubrelease bench run` again.",
    ),
    "decision-runs-unmatched": Code(
        "HR604",
        "Two runs of a decision benchmark did not answer the same questions.",
        "A difference between runs over different rows says nothing about the models.",
        "Run the profile that lacks rows again over the same data set, or leave them out with --exclude-unmatched.",
    ),
    "decision-questions-invalid": Code(
        "HR607",
        "A line of a questions file is no question of a decision benchmark.",
        "A benchmark that leaves out rows which it can't read measures something else.",
        "Correct the line; its form is that of schemas/decision-question.schema.json.",
    ),
    "decision-run-other": Code(
        "HR608",
        "A rows file is of another run: other questions, another server, or other options.",
        "Rows of two runs in one file would be compared as if one model had answered them all.",
        "Go on with what the run began with, or choose another -o.",
    ),
    "decision-server-fault": Code(
        "HR609",
        "The decision server does not answer, is not ready, or went away in the middle of a run.",
        "Every row that is asked now would fail, and none of that would be the model's doing.",
        "Start the server, then run the same command again: it goes on where it stopped.",
    ),
    "plot-fault": Code(
        "HR606",
        "A plot of the card can't be made from what card.plots says.",
        "A picture that shows something else than its data misleads more than a wrong number.",
        "Read the message; the keys of a plot stand in schemas/release.schema.json under card.plots.",
    ),
    "usage": Code(
        "HR199",
        "The command line can't be understood.",
        "Nothing was done.",
        "See `hubrelease COMMAND --help`.",
    ),
}
