#!/usr/bin/env python3
"""Writes testdata/deploy/kubernetes.json: the types of Kubernetes' API that our manifests use, as JSON Schema.

    scripts/cluster/schema.py VERSION SWAGGER_JSON

SWAGGER_JSON is api/openapi-spec/swagger.json of the Go module k8s.io/kubernetes. Unknown fields, which the API server
drops or refuses, are errors here. Descriptions are left out.
"""

import json
import os
import sys

KINDS = [
    "api.core.v1.ConfigMap", "api.core.v1.PersistentVolumeClaim", "api.core.v1.Pod", "api.core.v1.Secret",
    "api.core.v1.Service", "api.core.v1.ServiceAccount", "api.apps.v1.Deployment", "api.apps.v1.StatefulSet",
    "api.batch.v1.Job", "api.networking.v1.NetworkPolicy",
]
PREFIX = "io.k8s."
REF = "#/definitions/"
OUT = os.path.join(os.path.dirname(__file__), "../../testdata/deploy/kubernetes.json")


def reduced(schema, found):
    """The part of a schema that restricts; definitions that it refers to are added to `found`."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(REF)
        found.append(name)
        return {"$ref": REF + name.removeprefix(PREFIX)}
    kept = {key: schema[key] for key in ("type", "required", "enum") if key in schema}
    if schema.get("format") == "int-or-string":
        kept["type"] = ["integer", "string"]
    if "properties" in schema:
        kept["properties"] = {name: reduced(part, found) for name, part in schema["properties"].items()}
        kept["additionalProperties"] = False
    if isinstance(schema.get("additionalProperties"), dict):
        kept["additionalProperties"] = reduced(schema["additionalProperties"], found)
    if "items" in schema:
        kept["items"] = reduced(schema["items"], found)
    return kept


def main(version, path):
    with open(path) as file:
        swagger = json.load(file)
    definitions, kinds, waiting = {}, {}, [PREFIX + kind for kind in KINDS]
    for name in list(waiting):
        group = swagger["definitions"][name]["x-kubernetes-group-version-kind"][0]
        version = "/".join(part for part in (group["group"], group["version"]) if part)
        kinds[f"{version} {group['kind']}"] = name.removeprefix(PREFIX)
    while waiting:
        name = waiting.pop()
        short = name.removeprefix(PREFIX)
        if short not in definitions:
            definitions[short] = reduced(swagger["definitions"][name], waiting)
    # A quantity may be written as a number.
    definitions["apimachinery.pkg.api.resource.Quantity"] = {"type": ["string", "number"]}
    document = {
        "version": version,
        "kinds": kinds,
    }
    # A line for each definition.
    lines = [f"{json.dumps(name)}: {json.dumps(schema)}" for name, schema in sorted(definitions.items())]
    head = json.dumps(document, indent=1).removesuffix("\n}")
    with open(OUT, "w") as file:
        file.write(head + ',\n "definitions": {\n  ' + ",\n  ".join(lines) + "\n }\n}\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
