"""The committed CustomResourceDefinitions are the models', and keep the API conventions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crds.objects import ROOT, Json, crds
from tools.generate import generated

_NO_UNION = {"anyOf", "oneOf", "allOf", "not", "nullable", "additionalProperties"}

CRDS = {crd["spec"]["names"]["kind"]: crd for crd in crds()}


def nodes(schema: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Yield every node of a schema with its path."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")


def own_nodes(crd: Json) -> Iterator[tuple[str, Json]]:
    """Yield the nodes of `spec` and `status`; the rest of an object is the API server's."""
    (version,) = crd["spec"]["versions"]
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    for part in properties.keys() & {"spec", "status"}:
        yield from nodes(properties[part], part)


# S0.65
def test_the_committed_files_are_the_generated_ones() -> None:
    files = generated()
    for path, content in files.items():
        assert path.read_text("utf-8") == content, f"{path}: run `make crds`"
    folder = ROOT / "crds"
    assert set(folder.iterdir()) == {path for path in files if path.parent == folder}


@pytest.mark.parametrize("crd", CRDS.values(), ids=CRDS)
def test_names_and_versions(crd: Json) -> None:
    spec = crd["spec"]
    assert crd["metadata"]["name"] == f"{spec['names']['plural']}.research.fixpoint.dev"
    assert spec["group"] == "research.fixpoint.dev"
    assert spec["scope"] == "Namespaced"
    assert spec["names"]["categories"] == ["research"]
    assert [v["name"] for v in spec["versions"]] == ["v1alpha1"]


def test_short_names() -> None:
    names = {kind: crd["spec"]["names"]["shortNames"] for kind, crd in CRDS.items()}
    assert names == {
        "ResearchTask": ["rtask"],
        "ResearchStep": ["rstep"],
        "ResearchModel": ["rmodel"],
        "ResearchSource": ["rsource"],
    }


@pytest.mark.parametrize("crd", CRDS.values(), ids=CRDS)
def test_strings_lists_and_integers_are_bounded(crd: Json) -> None:
    for path, node in own_nodes(crd):
        match node["type"]:
            case "string":
                assert "maxLength" in node or "enum" in node, path
            case "array":
                assert "maxItems" in node, path
                assert node["x-kubernetes-list-type"] in {"atomic", "map", "set"}, path
            case "integer":
                assert -(2**53) < node["minimum"] <= node["maximum"] < 2**53, path
            case other:
                assert other in {"object", "boolean"}, f"{path}: {other}"


@pytest.mark.parametrize("crd", CRDS.values(), ids=CRDS)
def test_nothing_is_nullable_or_a_union_or_a_map(crd: Json) -> None:
    for path, node in own_nodes(crd):
        assert not node.keys() & _NO_UNION, path
        assert "title" not in node, path
        if node["type"] == "object":
            assert "properties" in node, path


@pytest.mark.parametrize("crd", CRDS.values(), ids=CRDS)
def test_a_list_that_is_a_map_requires_its_keys(crd: Json) -> None:
    for path, node in own_nodes(crd):
        for key in node.get("x-kubernetes-list-map-keys", ()):
            assert key in node["items"]["required"], path


@pytest.mark.parametrize("crd", CRDS.values(), ids=CRDS)
def test_every_rule_has_a_message_of_one_line(crd: Json) -> None:
    (version,) = crd["spec"]["versions"]
    root = version["schema"]["openAPIV3Schema"]
    for path, node in [("", root), *own_nodes(crd)]:
        for rule in node.get("x-kubernetes-validations", ()):
            assert rule["rule"], path
            assert rule["message"].strip() == rule["message"] != "", path
            assert "\n" not in rule["message"], path


@pytest.mark.parametrize("crd", CRDS.values(), ids=CRDS)
def test_a_status_has_a_subresource_and_looks_unseen_at_first(crd: Json) -> None:
    (version,) = crd["spec"]["versions"]
    status = version["schema"]["openAPIV3Schema"]["properties"].get("status")
    if crd["spec"]["names"]["kind"] == "ResearchStep":
        assert status is None
        assert "subresources" not in version
    else:
        assert status["default"] == {"observedGeneration": -1}
        assert version["subresources"] == {"status": {}}


@pytest.mark.parametrize("crd", CRDS.values(), ids=CRDS)
def test_the_age_is_the_last_column_and_the_wide_ones_stand_together(crd: Json) -> None:
    (version,) = crd["spec"]["versions"]
    columns = version["additionalPrinterColumns"]
    assert columns[-1]["name"] == "Age"
    priorities = [column.get("priority", 0) for column in columns[:-1]]
    assert priorities == sorted(priorities)
