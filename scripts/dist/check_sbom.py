#!/usr/bin/env python3
"""Checks the lists of parts of a release: scripts/dist/check_sbom.py DIST

Each is CycloneDX 1.6, names a version and a license of each part, has no part twice, and every dependency is a part.
"""

import json
import pathlib
import sys


def faults(document):
    parts = [document["metadata"]["component"], *document["components"]]
    refs = [part["bom-ref"] for part in parts]
    if (document["bomFormat"], document["specVersion"]) != ("CycloneDX", "1.6"):
        yield "not CycloneDX 1.6"
    yield from (f"{ref} is there twice" for ref in sorted(set(refs)) if refs.count(ref) > 1)
    for part in parts:
        [license_name] = part["licenses"]
        text = license_name.get("expression") or license_name["license"]["id"]
        if not part["version"] or text == "NOASSERTION":
            yield f"{part['bom-ref']} has no version or license"
    for dependency in document["dependencies"]:
        named = [dependency["ref"], *dependency["dependsOn"]]
        yield from (f"{ref} is no part" for ref in named if ref not in refs)


def main(dist):
    files = sorted(pathlib.Path(dist).glob("*.cdx.json"))
    wrong = []
    for path in files:
        document = json.loads(path.read_text())
        found = list(faults(document))
        wrong += [f"{path.name}: {fault}" for fault in found]
        print(f"{path.name}: {len(document['components'])} parts")
    if wrong or not files:
        sys.exit("\n".join(wrong) or f"no lists of parts in {dist}")


if __name__ == "__main__":
    main(sys.argv[1])
