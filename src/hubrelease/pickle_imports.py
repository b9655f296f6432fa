"""Which imports of a pickle can run a program, read or send files, or load code. What is not here may still be unwelcome.

Whole modules whose purpose is one of these, and single names of modules that models use for good reasons. Not here, though
each can be one step of an attack: getattr (an Enum pickled by Python 3.11 is a call of it), functools.partial,
torch.storage._load_from_bytes (how a tensor pickles itself). The step that does the harm is.
"""

from __future__ import annotations

MODULES = frozenset({
    "SocketServer", "_aix_support", "_ctypes", "_frozen_importlib", "_frozen_importlib_external", "_osx_support", "_pickle",
    "_posixsubprocess", "_socket", "_winapi", "_winreg", "antigravity", "bdb", "cPickle", "cProfile", "code", "codeop", "commands",
    "doctest", "ftplib", "httplib", "imaplib", "imp", "marshal", "msvcrt", "nntplib", "nt", "os", "pdb", "pickle", "pkgutil", "popen2",
    "poplib", "posix", "profile", "pty", "pydoc", "runpy", "shelve", "shutil", "smtplib", "socket", "socketserver", "ssl", "subprocess",
    "sys", "telnetlib", "tempfile", "timeit", "trace", "urllib2", "webbrowser", "winreg", "zipimport",
})  # fmt: skip
PACKAGES = frozenset({  # with everything below them
    "_pyrepl", "aiohttp", "asyncio", "cffi", "ctypes", "distutils", "ensurepip", "http", "httpx", "idlelib", "importlib", "lib2to3",
    "numpy.distutils", "numpy.f2py", "numpy.testing", "paramiko", "pip", "requests", "setuptools", "test.support", "torch._inductor",
    "torch.hub", "torch.utils.bottleneck", "torch.utils.collect_env", "torch.utils.cpp_extension", "transformers.dynamic_module_utils",
    "urllib", "urllib3", "venv", "xmlrpc", "xmlrpclib",
})  # fmt: skip
BUILTINS = frozenset({
    "__import__", "apply", "breakpoint", "compile", "delattr", "eval", "exec", "execfile", "file", "globals", "input", "locals", "open",
    "raw_input", "setattr", "vars",
})  # fmt: skip
NAMES = frozenset({
    "_io.FileIO", "_io.open", "_io.open_code", "_operator.attrgetter", "_operator.methodcaller", "cloudpickle.cloudpickle._builtin_type",
    "cloudpickle.cloudpickle._make_function", "cloudpickle.cloudpickle._make_skel_func", "cloudpickle.cloudpickle.subimport",
    "cloudpickle.load", "cloudpickle.loads", "codecs.open", "dill._dill._create_code", "dill._dill._create_function",
    "dill._dill._eval_repr", "dill._dill._import_module", "dill.load", "dill.loads", "fileinput.input", "io.FileIO", "io.open",
    "io.open_code", "joblib.load", "joblib.numpy_pickle.load", "linecache.getlines", "logging.FileHandler", "logging.config.dictConfig",
    "logging.config.fileConfig", "logging.config.listen", "multiprocessing.util.spawnv_passfds", "numpy.lib.npyio.load", "numpy.load",
    "operator.attrgetter", "operator.methodcaller", "pandas.core.computation.eval.eval", "pandas.eval", "pandas.io.pickle.read_pickle",
    "pandas.read_pickle", "torch.jit.load", "torch.load", "torch.serialization.load", "types.CodeType", "types.FunctionType",
    "types.LambdaType", "types.ModuleType", "uuid._get_command_stdout", "uuid._popen", "yaml.full_load", "yaml.load", "yaml.unsafe_load",
})  # fmt: skip
# Steps of a dotted name of protocol 4, by which a harmless module leads to another: torch.serialization, os.system
STEPS = frozenset({
    "__builtins__", "__globals__", "__import__", "__subclasses__", "builtins", "eval", "exec", "importlib", "os", "popen", "shutil",
    "socket", "subprocess", "sys", "system",
})  # fmt: skip


def is_dangerous(module: str, name: str) -> bool:
    """True for an import that can do harm by itself, and for one whose name the pickle computes."""
    steps = name.split(".")
    if not module or f"{module}.{name}" in NAMES or module in MODULES:
        return True
    if module in ("builtins", "__builtin__") and steps[0] in BUILTINS:
        return True
    if len(steps) > 1 and not STEPS.isdisjoint(steps):
        return True
    parts = module.split(".")
    return any(".".join(parts[:depth]) in PACKAGES for depth in range(1, min(len(parts), 4) + 1))
