"""Looks, before anything else, whether the cluster has what the operator needs: kinds and rights.

A missing right otherwise shows as a watch that never starts, which looks like a hang.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kubernetes.aio.client import ApiClient

from controller.api.base import GROUP, VERSION
from controller.api.errors import NotFoundError
from controller.store.kubernetes_requests import RESEARCH, Requests
from controller.store.names import MODELS, SOURCES, STEPS, TASKS
from controller.store.rights import RIGHTS, Right

_KINDS = (TASKS, STEPS, MODELS, SOURCES)
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


async def check_access(client: ApiClient, namespace: str | None = None) -> tuple[str, ...]:
    """Return one line for each missing kind and right, with the mend; empty when all is there.

    Rights that are optional are not asked about.

    Args:
        client: the client whose account is asked about.
        namespace: where the rights are needed; None means everywhere.

    Raises:
        UnavailableError: the API server does not answer.
        RefusedError: the account may not even ask.
    """
    requests = Requests(client)
    missing_kinds = await _missing_kinds(requests)
    needed = [right for right in RIGHTS if not right.is_optional]
    asked = [(right, verb) for right in needed for verb in right.verbs]
    return (
        *(
            f"the CustomResourceDefinition {kind}.{GROUP} is not installed: "
            "kubectl apply --server-side -k crds/"
            for kind in missing_kinds
        ),
        *await _missing_rights(requests, asked, namespace),
    )


async def check_watching(client: ApiClient, namespace: str | None = None) -> tuple[str, ...]:
    """Return one line for each right to watch that is missing; empty when all are there.

    A watch that is refused is asked for again and again, without end and without an error; every
    other right that is taken away shows as soon as it is needed.

    Raises:
        UnavailableError: the API server does not answer.
        RefusedError: the account may not even ask.
    """
    asked = [(right, "watch") for right in RIGHTS if "watch" in right.verbs]
    return await _missing_rights(Requests(client), asked, namespace)


async def _missing_rights(
    requests: Requests, asked: Sequence[tuple[Right, str]], namespace: str | None
) -> tuple[str, ...]:
    allowed = await asyncio.gather(*(_may(requests, r, verb, namespace) for r, verb in asked))
    return tuple(
        _missing_right(right, verb, namespace)
        for (right, verb), may in zip(asked, allowed, strict=True)
        if not may
    )


async def _missing_kinds(requests: Requests) -> list[str]:
    try:
        answer = await requests.get(f"list the resources of {GROUP}/{VERSION}", RESEARCH)
    except NotFoundError:
        return list(_KINDS)  # the group has no kind at all
    served = {resource["name"] for resource in answer["resources"]}
    return [kind for kind in _KINDS if kind not in served]


async def _may(requests: Requests, right: Right, verb: str, namespace: str | None) -> bool:
    resource, _, subresource = right.resource.partition("/")
    asked = {
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "verb": verb,
        "namespace": namespace or "",
    }
    answer = await requests.create(
        f"ask whether this account may {verb} {right.resource}",
        _REVIEWS,
        {"spec": {"resourceAttributes": asked}},
    )
    return bool(answer.get("status", {}).get("allowed"))


def _missing_right(right: Right, verb: str, namespace: str | None) -> str:
    where = f"in the namespace {namespace}" if namespace else "in all namespaces"
    return (
        f"the service account may not {verb} {right.resource} {where}, which it needs "
        f"{right.purpose}: grant it the role of manifests/base"
    )
