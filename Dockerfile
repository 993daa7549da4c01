# kwhatif in a container: docker build -t kwhatif .
# `make pin` writes the digest of the base image, as it is now, behind its tag; Dependabot keeps it up to date.
# Then, in a folder with manifests and a snapshot of the cluster:
#   docker run --rm -v "$PWD:/src:ro" kwhatif gate manifests/ --from cluster.json.gz
FROM python:3.12-slim AS build
WORKDIR /build
COPY requirements.lock ./
RUN python -m venv /opt/kwhatif \
    && /opt/kwhatif/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY kwhatif kwhatif
RUN /opt/kwhatif/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
    && /opt/kwhatif/bin/pip uninstall --yes pip hatchling editables

FROM python:3.12-slim
COPY --from=build /opt/kwhatif /opt/kwhatif
ENV PATH=/opt/kwhatif/bin:$PATH
# A user without a name, a home or rights; a number, so that Kubernetes can check runAsNonRoot.
USER 65532:65532
WORKDIR /src
ENTRYPOINT ["kwhatif"]
CMD ["--help"]
