"""The list of a binary's parts: as CycloneDX 1.6 (JSON), and the text of their licenses."""

import datetime
import json
import uuid

SEPARATOR = "-" * 80


def component(part, kind="library"):
    license_name = {"license": {"id": part.license}} if is_simple(part.license) else {"expression": part.license}
    found = {
        "type": kind,
        "bom-ref": part.ref,
        "name": part.name,
        "version": part.version,
        "licenses": [license_name],
        "purl": part.purl,
    }
    if part.hash:
        found["hashes"] = [{"alg": part.hash[0], "content": part.hash[1]}]
    return found


def is_simple(expression):
    return " " not in expression and expression != "NOASSERTION"


def cyclonedx(throng, others, target, mtime):
    """The document as bytes. Its serial number depends on its contents."""
    time = datetime.datetime.fromtimestamp(mtime, datetime.UTC)
    parts = sorted([throng, *others], key=lambda part: part.ref)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component(throng, "application"),
            "properties": [{"name": "throng:target", "value": target}],
        },
        "components": [component(part) for part in others],
        "dependencies": [{"ref": part.ref, "dependsOn": sorted(part.needs)} for part in parts],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    document["serialNumber"] = f"urn:uuid:{serial}"
    return (json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def licenses(others):
    """The licenses of all parts that are not ours; a text that several share is there once."""
    by_text = {}
    without = []
    for part in others:
        if part.ours:
            continue
        name = f"{part.name} {part.version} ({part.license})"
        if not part.texts:
            without.append(name)
        for text in part.texts:
            by_text.setdefault(text, []).append(name)
    out = []
    for text, names in sorted(by_text.items(), key=lambda item: item[1]):
        out += [SEPARATOR, *names, "", text, ""]
    if without:
        out += [SEPARATOR, "Without a text of their own; the identifiers are those of SPDX:", *without]
    return ("\n".join(out) + "\n").encode()
