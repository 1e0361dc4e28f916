#!/usr/bin/env bash
# Makes a kind cluster, installs the operator into it and runs the samples to their end.
# What is there already is used again, so it can be run as often as one likes.
#
#   CLUSTER    the name of the kind cluster (fixpoint)
#   BASE       the base image of the operator's image (python:3.13-slim)
set -euo pipefail

cluster="${CLUSTER:-fixpoint}"
base="${BASE:-python:3.13-slim}"
# The image that manifests/base names.
image="fixpoint-operator:0.1.0"
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

say() {
  printf '==> %s\n' "$*"
}

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

require() {
  command -v "$1" >/dev/null 2>&1 || fail "$1 was not found; $2"
}

require docker "install Docker Engine (https://docs.docker.com/engine/install/)"
require kind "install kind 0.26 or newer (https://kind.sigs.k8s.io/docs/user/quick-start/#installation)"
require kubectl "install kubectl 1.32 or newer (https://kubernetes.io/docs/tasks/tools/)"
docker info >/dev/null 2>&1 || fail "docker does not answer; start it, and check that you may use it"

# The user's own current context is left as it is.
kubeconfig="$(mktemp)"
trap 'rm -f "$kubeconfig"' EXIT
export KUBECONFIG="$kubeconfig"

if kind get clusters 2>/dev/null | grep -qxF "$cluster"; then
  say "using the kind cluster $cluster"
  kind export kubeconfig --name "$cluster"
else
  say "creating the kind cluster $cluster"
  kind create cluster --name "$cluster" --config "$root/manifests/kind/cluster.yaml" --wait 120s
fi

say "building the image $image from $base"
docker build --build-arg "BASE=$base" --tag "$image" "$root"
kind load docker-image "$image" --name "$cluster"

say "installing the kinds, the operator and the roles"
kubectl apply --server-side -k "$root/manifests/overlays/default"
kubectl wait --for=condition=Established crd --timeout=60s \
  researchtasks.research.fixpoint.dev researchsteps.research.fixpoint.dev \
  researchmodels.research.fixpoint.dev researchsources.research.fixpoint.dev
# A new image under the same name: only a new pod takes it.
kubectl --namespace fixpoint-system rollout restart statefulset/fixpoint
kubectl --namespace fixpoint-system rollout status statefulset/fixpoint --timeout=300s

say "running the samples"
kubectl --namespace default apply -k "$root/manifests/samples"
kubectl --namespace default wait --for=condition=Finished rtask/minimal rtask/manual --timeout=300s
kubectl --namespace default get rtask

say "the report of the task manual"
kubectl --namespace default get configmap manual-report --output 'jsonpath={.data.report\.md}'

say "done; use it with: kind export kubeconfig --name $cluster"
say "remove it with: kind delete cluster --name $cluster"
