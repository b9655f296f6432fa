"""Who may import whom, who may print, who may write JSON: read from the source, held against the tables here (architecture.md 2)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "hubrelease"

# From the top down. A module imports its own layer and lower ones. What no line names is a value or a rule on values.
LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("entry", ("__main__",)),
    ("commands", ("commands", "commands.*")),
    ("api", ("api", "preview", "preview.*")),
    ("verbs", ("builder", "sealer", "checker", "verifier", "starter", "explain", "card_command", "card_metadata", "cards_check", "released", "doctor", "pins", "fidelity", "greedy_answers", "format_pages", "validator", "validated", "jobs", "resealing", "reports_written", "judging", "long_prompts", "memory_samples", "probes", "probes.*", "engines", "engines.*")),
    ("steps and checks", ("steps", "steps.*", "checks", "checks.*", "reshard", "validation_reports", "provenance", "container_faults", "conversion", "conversion.*", "formats", "formats.*")),
    ("values", ("*",)),
    ("ground", ("errors", "codes", "progress", "canonical", "digest", "verify_release", "weights", "strict_yaml", "glob_paths", "family", "resources")),
)  # fmt: skip
PRINTS = {
    "report": "the place for it",
    "verify_release": "travels alone",
    "probes._kernel_check": "runs alone",
    "commands": "on standard error only, where an end can't be shown by report.py: usage, interruption, a closed output",
}
WRITES_JSON = {
    "canonical": "the place for it: files and digests",
    "verify_release": "travels alone",
    "probes._kernel_check": "runs alone",
    "report": "standard output",
    "finding_formats": "standard output",
    "weights": "container headers, whose order is that of the tensors",
    "schema_problems": "values in messages",
    "compare": "values in messages",
    "starter": "quoted text in YAML",
    "patterns": "a pipe to a process of ours",
    "decisions.client": "requests, whose options keep the order in which they are asked",
    "conversion.configs": "config.json, whose keys keep the order of the base's",
}
HUB_CLIENT = {"hub": "the place for it", "doctor": "asks whether a token is there"}
KERNELS = {"arithmetic.cuda": "Triton compiles functions of a module; it is imported where its path is asked for"}
NEVER_AT_TOP = ("torch", "triton", "transformers", "flashinfer", "numpy")
ONLY_INSIDE_FUNCTIONS = ("jsonschema", "cryptography", "huggingface_hub", "rich", "yaml")  # 0.2-0.4 s at start


@cache
def sources() -> dict[str, ast.Module]:
    """Every module of ours by its name below `hubrelease`, parsed."""
    files = sorted(SOURCE.rglob("*.py"))
    return {name_of(file): ast.parse(file.read_text("utf-8")) for file in files}


def name_of(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@cache
def imported(module: str) -> tuple[str, ...]:
    """What a module imports anywhere."""
    return tuple(imports(sources()[module]))


def imports(tree: ast.AST) -> Iterator[str]:
    """Full names of what a tree imports, TYPE_CHECKING apart."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from imports(node)


def at_top(tree: ast.Module) -> Iterator[str]:
    """What a module imports when it is imported itself."""
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield from imports(ast.Module([node], []))


def of_ours(names: Iterable[str]) -> set[str]:
    """Modules of ours among imported names; `from hubrelease.errors import Where` is errors."""
    inside = [name.removeprefix("hubrelease.") for name in names if name.startswith("hubrelease.")]
    return {name if name in sources() else name.rpartition(".")[0] for name in inside if name in sources() or "." in name}


def layer_of(module: str) -> int:
    """The number of a module's layer; the most exact pattern counts."""
    fits = [(len(p.rstrip("*")), n) for n, (_, patterns) in enumerate(LAYERS) for p in patterns if fnmatchcase(module, p)]
    return max(fits)[1]


def test_the_tables_name_modules_that_there_are() -> None:
    named = (
        {p for _, patterns in LAYERS for p in patterns if "*" not in p and not p.startswith("formats")}
        | set(PRINTS)
        | set(WRITES_JSON)
        | set(HUB_CLIENT)
    )
    assert named <= set(sources())


def test_imports_point_one_way() -> None:
    upward = {
        (module, other)
        for module, tree in sources().items()
        for other in of_ours(imported(module))
        if module != "__init__" and layer_of(other) < layer_of(module)  # the names of __init__ are loaded on first use
    }
    assert not upward


def test_no_two_modules_import_each_other() -> None:
    below = {module: of_ours(at_top(tree)) for module, tree in sources().items()}
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " → ".join((*path, module))
        if module not in done:
            for other in below.get(module, set()):
                visit(other, (*path, module))
            done.add(module)

    for module in below:
        visit(module, ())


def calls(module: str, *names: str) -> bool:
    found = (ast.unparse(node.func) for node in ast.walk(sources()[module]) if isinstance(node, ast.Call))
    return any(name in names for name in found)


def test_only_report_prints() -> None:
    writers = (
        "print",
        "sys.stdout.write",
        "sys.stderr.write",
        "click.echo",
        "click.secho",
        "traceback.print_exc",
        "traceback.print_exception",
        "warnings.warn",
    )
    assert {module for module in sources() if calls(module, *writers)} == set(PRINTS)


def test_only_canonical_writes_json_for_files() -> None:
    assert {module for module in sources() if calls(module, "json.dumps", "json.dump")} <= set(WRITES_JSON)


def test_only_hub_knows_the_hubs_client() -> None:
    users = {module for module, tree in sources().items() if any(name.startswith("huggingface_hub") for name in imported(module))}
    assert users == set(HUB_CLIENT)


def test_heavy_packages_are_imported_where_they_are_used() -> None:
    tops = {(module, name.split(".")[0]) for module, tree in sources().items() for name in at_top(tree)}
    assert not [row for row in tops if row[1] in (*NEVER_AT_TOP, *ONLY_INSIDE_FUNCTIONS) and row[0] not in KERNELS]
    assert not [module for module, tree in sources().items() if set(KERNELS) & of_ours(at_top(tree))]


def test_the_ground_imports_nothing_above_it() -> None:
    for module in LAYERS[-1][1]:
        assert of_ours(imported(module)) <= set(LAYERS[-1][1])
    assert not of_ours(imported("verify_release"))


def test_a_runtime_file_never_imports_hubrelease() -> None:
    for file in (SOURCE.parent.parent / "runtime").rglob("*.py"):
        assert not [name for name in imports(ast.parse(file.read_text())) if name.split(".")[0] == "hubrelease"]


def test_no_command_has_a_try() -> None:
    """One place turns ends into exit codes."""
    tries = {
        module
        for module, tree in sources().items()
        if module.startswith("commands.") and any(isinstance(n, ast.Try) for n in ast.walk(tree))
    }
    assert not tries


def test_nobody_catches_everything() -> None:
    """`except Exception` stands once, round the whole program, where it shows the traceback of a bug."""
    found = {}
    for module, tree in sources().items():
        handlers = [n for n in ast.walk(tree) if isinstance(n, ast.ExceptHandler)]
        broad = [n for n in handlers if n.type is None or ast.unparse(n.type) in ("Exception", "BaseException")]
        found[module] = [n for n in broad if not any(isinstance(inner, ast.Raise) for inner in ast.walk(n))]
    assert {module for module, broad in found.items() if broad} <= {"commands", "verify_release"}
