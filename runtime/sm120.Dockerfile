# Serves the decision API of the mounted release, after verifying it. Made by hubrelease from runtime/sm120.Dockerfile.
#   docker build -t release .
#   docker run --rm --gpus all --read-only --tmpfs /tmp --cap-drop ALL -v "$PWD:/models:ro" -p 127.0.0.1:8000:8000 release --host 0.0.0.0
# Nothing is fetched at run time. A restart on a folder verified before: release --sizes-only --host 0.0.0.0
# No Docker engine was at hand where this template was written: it was linted, not built.

FROM @BASE_IMAGE@ AS builder
# The CUDA compiler, for kernels/sm120_entry.cu; both stages share one libc, so the library built here loads there.
# Digest not resolved here: taken from docker/nvcc.Dockerfile of maderix/mithril and from
# deployments/images/agent-cli-base/Dockerfile of vuissoz/dgx-spark-agentic-stack on GitHub.
COPY --from=docker.io/nvidia/cuda:13.0.1-devel-ubuntu24.04@sha256:7d2f6a8c2071d911524f95061a0db363e24d27aa51ec831fcccf9e76eb72bc92 /usr/local/cuda-13.0 /usr/local/cuda-13.0
ARG PIP_INDEX_URL=https://pypi.org/simple
COPY runtime/requirements.lock runtime/requirements-build.lock /build/
RUN python3 -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --no-deps --require-hashes --only-binary :all: -r /build/requirements.lock \
 && /opt/venv/bin/pip install --no-cache-dir --no-deps --require-hashes --only-binary :all: --target /build/headers -r /build/requirements-build.lock
COPY runtime/kernels/build_sm120.sh runtime/kernels/sm120_entry.cu /build/kernels/
RUN NVCC=/usr/local/cuda-13.0/bin/nvcc sh /build/kernels/build_sm120.sh /build/libsm120_fp8.so /build/headers/flashinfer/data

FROM @BASE_IMAGE@
LABEL org.opencontainers.image.title="@NAME@" \
      org.opencontainers.image.version="@VERSION@" \
      org.opencontainers.image.licenses="@LICENSE@" \
      org.opencontainers.image.base.name="@BASE_IMAGE@"
COPY --from=builder /opt/venv /opt/venv
COPY --from=builder /build/libsm120_fp8.so /opt/release/kernels/
COPY runtime/kernels /opt/release/kernels
COPY runtime/engine /opt/release/engine
COPY runtime/server /opt/release/server
COPY runtime/verify_release.py runtime/entrypoint.py /opt/release/
# Triton compiles its kernels at the first launch, with the base image's C compiler, into this volume. cc must be there.
RUN cc --version && mkdir -p /cache/triton && chown -R 65532:65532 /cache
ENV PATH=/opt/venv/bin:$PATH \
    HOME=/cache \
    XDG_CACHE_HOME=/cache \
    TRITON_CACHE_DIR=/cache/triton \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    HF_HUB_OFFLINE=1 \
    HF_HUB_DISABLE_TELEMETRY=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
VOLUME ["/cache"]
WORKDIR /opt/release
USER 65532:65532
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=600s \
  CMD ["python3", "-I", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["python3", "-I", "/opt/release/entrypoint.py", "/models"]
CMD []
