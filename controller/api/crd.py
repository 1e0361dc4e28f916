"""Makes the CustomResourceDefinitions from the pydantic models: a development tool.

Nothing imports this at run time; `make crds` writes its result to `crds/`, `make verify` fails
if the committed files differ. The transform raises on anything that it does not know, on
unbounded strings and lists and on floats, so that the API conventions hold where the schema is
made. What pydantic and a structural schema say differently is listed in `_node`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from controller.api.base import GROUP, VERSION, ApiModel
from controller.api.model import ResearchModelSpec, ResearchModelStatus
from controller.api.schema import Rule, encode
from controller.api.source import ResearchSourceSpec, ResearchSourceStatus
from controller.api.step import ResearchStepSpec
from controller.api.task import MAX_TASK_NAME, ResearchTaskSpec, ResearchTaskStatus

Schema = dict[str, Any]


class SchemaError(Exception):
    """A model says something that a structural schema cannot, or leaves something unbounded."""


class Column(NamedTuple):
    """A column of `kubectl get`; `priority` 1 shows it only with `-o wide`."""

    name: str
    type: str
    json_path: str
    priority: int = 0

    def to_json(self) -> Schema:
        """Return the column as a CRD has it."""
        column: Schema = {"name": self.name, "type": self.type, "jsonPath": self.json_path}
        return column | ({"priority": self.priority} if self.priority else {})


@dataclass(frozen=True)
class Kind:
    """One kind: its names, its models and what only the CRD knows about it."""

    name: str
    plural: str
    short_name: str
    spec: type[ApiModel]
    status: type[ApiModel] | None
    columns: tuple[Column, ...]
    root_rules: tuple[Rule, ...] = ()
    spec_rules: tuple[Rule, ...] = ()
    selectable_fields: tuple[str, ...] = ()


def _condition(kind: str, field: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].{field}'


KINDS: Final = (
    Kind(
        name="ResearchTask",
        plural="researchtasks",
        short_name="rtask",
        spec=ResearchTaskSpec,
        status=ResearchTaskStatus,
        columns=(
            Column("Succeeded", "string", _condition("Succeeded", "status")),
            Column("Reason", "string", _condition("Succeeded", "reason")),
            Column("Quality", "integer", ".status.quality.score"),
            Column("Steps", "integer", ".status.usage.steps"),
            Column("Model", "string", ".spec.modelRef.name", 1),
            Column("Stalled", "integer", ".status.progress.stalledSteps", 1),
            Column("Message", "string", _condition("Succeeded", "message"), 1),
            Column("Age", "date", ".metadata.creationTimestamp"),
        ),
        root_rules=(
            Rule(
                f"self.metadata.name.size() <= {MAX_TASK_NAME}",
                f"metadata.name must have at most {MAX_TASK_NAME} characters, "
                "so that the names of its steps fit a label",
            ),
        ),
    ),
    Kind(
        name="ResearchStep",
        plural="researchsteps",
        short_name="rstep",
        spec=ResearchStepSpec,
        status=None,
        columns=(
            Column("Index", "integer", ".spec.index"),
            Column("Action", "string", ".spec.action"),
            Column("Question", "string", ".spec.questionId"),
            Column("Outcome", "string", ".spec.outcome"),
            # The name begins with the task's.
            Column("Task", "string", ".spec.taskName", 1),
            Column("Found", "string", ".spec.observation.summary", 1),
            Column("Age", "date", ".metadata.creationTimestamp"),
        ),
        spec_rules=(Rule("self == oldSelf", "a ResearchStep is a record and may not be changed"),),
        selectable_fields=(".spec.taskName", ".spec.taskUID", ".spec.action", ".spec.outcome"),
    ),
    Kind(
        name="ResearchModel",
        plural="researchmodels",
        short_name="rmodel",
        spec=ResearchModelSpec,
        status=ResearchModelStatus,
        columns=(
            Column("Backend", "string", ".spec.backend"),
            Column("Model", "string", ".spec.model"),
            Column("Ready", "string", _condition("Ready", "status")),
            Column("Reason", "string", _condition("Ready", "reason")),
            Column("Age", "date", ".metadata.creationTimestamp"),
        ),
    ),
    Kind(
        name="ResearchSource",
        plural="researchsources",
        short_name="rsource",
        spec=ResearchSourceSpec,
        status=ResearchSourceStatus,
        columns=(
            Column("Type", "string", ".spec.type"),
            Column("Ready", "string", _condition("Ready", "status")),
            Column("Reason", "string", _condition("Ready", "reason")),
            Column("Documents", "integer", ".status.documents"),
            Column("Message", "string", _condition("Ready", "message"), 1),
            Column("Age", "date", ".metadata.creationTimestamp"),
        ),
    ),
)


def definition(kind: Kind) -> Schema:
    """Return the CustomResourceDefinition of a kind as a JSON object."""
    version: Schema = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [c.to_json() for c in kind.columns],
        "schema": {"openAPIV3Schema": _root(kind)},
    }
    if kind.status is not None:
        version["subresources"] = {"status": {}}
    if kind.selectable_fields:
        version["selectableFields"] = [{"jsonPath": path} for path in kind.selectable_fields]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": [kind.short_name],
                "categories": ["research"],
            },
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def _root(kind: Kind) -> Schema:
    properties: Schema = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": structural(kind.spec),
    }
    if kind.spec_rules:
        properties["spec"]["x-kubernetes-validations"] = encode(kind.spec_rules)
    if kind.status is not None:
        status = structural(kind.status)
        # kstatus must not take an object for finished that the operator has not seen yet.
        status["default"] = {"observedGeneration": -1}
        properties["status"] = status
    root: Schema = {"type": "object", "required": ["spec"], "properties": properties}
    if kind.root_rules:
        root["x-kubernetes-validations"] = encode(kind.root_rules)
    return root


def structural(model: type[ApiModel]) -> Schema:
    """Return the structural schema of a model.

    Raises:
        SchemaError: the model holds a float, an unbounded string, list or map, or a construct
            without a counterpart.
    """
    schema = model.model_json_schema(by_alias=True, mode="validation")
    definitions: Mapping[str, Schema] = schema.pop("$defs", {})
    return _node(schema, definitions, model.__name__)


_KEPT: Final = frozenset(
    {
        "type", "description", "enum", "format", "pattern", "minLength", "maxLength", "minimum",
        "maximum", "minItems", "maxItems", "required", "x-kubernetes-validations",
        "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
    }
)  # fmt: skip
_TRANSFORMED: Final = frozenset({"properties", "items", "default"})
_DROPPED: Final = frozenset({"title", "additionalProperties"})


def _node(schema: Schema, definitions: Mapping[str, Schema], path: str) -> Schema:
    schema = _without_null(_inlined(schema, definitions), definitions)
    if unknown := schema.keys() - _KEPT - _TRANSFORMED - _DROPPED:
        raise SchemaError(f"{path}: no counterpart for {', '.join(sorted(unknown))}")
    if schema.get("additionalProperties", False) is not False:
        raise SchemaError(f"{path}: a map has no counterpart")
    node: Schema = {key: schema[key] for key in sorted(schema.keys() & _KEPT)}
    if "description" in node:
        node["description"] = " ".join(node["description"].split())
    _check_bounds(node, path)
    if schema.get("default") is not None and schema["default"] != []:
        # A parent defaults to {}: the defaults of its fields are in the fields.
        node["default"] = {} if node["type"] == "object" else schema["default"]
    if node["type"] == "object":
        node["properties"] = {
            name: _node(child, definitions, f"{path}.{name}")
            for name, child in schema.get("properties", {}).items()
        }
    if node["type"] == "array":
        node["items"] = _node(schema["items"], definitions, f"{path}[]")
        node.setdefault("x-kubernetes-list-type", "atomic")
    return node


def _inlined(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Replace a reference by what it refers to; what stands beside the reference wins."""
    if "$ref" not in schema:
        return schema
    target = definitions[schema["$ref"].removeprefix("#/$defs/")]
    siblings = {key: value for key, value in schema.items() if key != "$ref"}
    return {**target, **siblings}


def _without_null(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Turn pydantic's "this or null" into an optional field that is not nullable."""
    arms = schema.get("anyOf")
    if arms is None:
        return schema
    kept = [arm for arm in arms if arm.get("type") != "null"]
    if len(kept) != 1 or len(arms) != len(kept) + 1:
        raise SchemaError(f"a union has no counterpart: {arms}")
    siblings = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**_inlined(kept[0], definitions), **siblings}


def _check_bounds(node: Schema, path: str) -> None:
    kind = node.get("type")
    if kind == "string":
        bounded = "maxLength" in node or "enum" in node
    elif kind == "integer":
        bounded = "minimum" in node and "maximum" in node
    elif kind == "array":
        bounded = "maxItems" in node
    else:
        bounded = kind in {"object", "boolean"}
    if not bounded:
        raise SchemaError(f"{path}: {kind} without bounds")
