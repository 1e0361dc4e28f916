# The operator's image. Everything that is installed is checked against the hashes of a lock file;
# nothing is fetched by address. The final image has no compiler, no build tool and no root.
#
# BASE is any image with Python 3.11 or newer as `python` and a glibc; give a digest
# (python:3.13-slim@sha256:...) where builds must be repeatable.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /source

# The build back-end has an environment of its own, which stays behind.
COPY requirements-build.lock ./
RUN python -m venv /opt/build \
    && /opt/build/bin/python -m pip install --require-hashes --requirement requirements-build.lock

# The dependencies come before the source, so that a change of the source installs none again.
COPY requirements.lock ./
RUN python -m venv /opt/fixpoint \
    && /opt/fixpoint/bin/python -m pip install --require-hashes --requirement requirements.lock

COPY pyproject.toml README.md LICENSE ./
COPY controller ./controller
RUN /opt/build/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /opt/fixpoint/bin/python -m pip install --no-deps --no-index /wheels/*.whl \
    && /opt/fixpoint/bin/python -m pip uninstall --yes pip

FROM ${BASE}
LABEL org.opencontainers.image.title="fixpoint" \
      org.opencontainers.image.description="A Kubernetes operator for research that converges" \
      org.opencontainers.image.licenses="Apache-2.0"
# Modules were compiled when they were installed: a read-only root file system costs no start.
# The folder that the process was started in is no place to import from.
ENV PATH=/opt/fixpoint/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PYTHONSAFEPATH=1
COPY --from=build /opt/fixpoint /opt/fixpoint
# By number, so that runAsNonRoot can be checked. 65532 owns nothing in the image.
USER 65532:65532
WORKDIR /
EXPOSE 8080
ENTRYPOINT ["python", "-m", "controller"]
