"""The elements of other tools' files, each with the file as it would be without it."""

import dataclasses
import json
import re
import xml.parsers.expat
from collections.abc import Iterator

import yaml

# Properties of JMeter's elements that say nothing of what is sent or when.
SILENT = re.compile(r"comments|guiclass|testclass|saveConfig|\.embedded_url|concurrentPool|always_encode|use_equals|metadata")
# Lines of scripts that say nothing by themselves: comments, output, and the beginning of a test with its name.
NOTHING = re.compile(r"^\s*(//|/?\*|console\.|pm\.test\([^{]*\{\s*$)")
# Headers that follow from the body, whatever a file says.
FRAMING = ("content-length", "transfer-encoding")
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


@dataclasses.dataclass(frozen=True)
class Element:
    """One element of a file."""

    kind: str
    # For people.
    name: str
    # Of XML an edit of bytes: begin, end and what stands there instead; of JSON the path of keys.
    place: tuple
    # The element that it belongs to, or stands below.
    owner: "Element | None" = None


@dataclasses.dataclass
class Node:
    """An element of XML with its place in the bytes."""

    tag: str
    attributes: dict
    begin: int
    parent: "Node | None"
    end: int = 0
    children: list = dataclasses.field(default_factory=list)

    def within(self) -> Iterator["Node"]:
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


def tree(text: bytes) -> Node:
    """The root of an XML document."""
    parser = xml.parsers.expat.ParserCreate()
    root = Node("", {}, 0, None)
    current = [root]

    def start(tag: str, attributes: dict) -> None:
        node = Node(tag, attributes, parser.CurrentByteIndex, current[-1])
        current[-1].children.append(node)
        current.append(node)

    def end(_tag: str) -> None:
        # Of an empty element this is its beginning.
        current.pop().end = text.index(b">", parser.CurrentByteIndex) + 1

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(text, True)
    return root


def every(node: Node) -> Iterator[Node]:
    for child in node.children:
        yield child
        yield from every(child)


def jmx(text: bytes) -> Iterator[Element]:
    """Test elements that are switched on, and the items of their lists: headers, arguments, texts of assertions."""
    found: dict[int, Element] = {}
    off: set[int] = set()

    def head(tree: Node) -> Node | None:
        """The element whose tree this is: the one before it."""
        siblings = tree.parent.children
        place = next(place for place, node in enumerate(siblings) if node is tree)
        return siblings[place - 1] if place else None

    def owner(node: Node) -> Node | None:
        """The test element that holds a node, or below which it stands."""
        for around in node.within():
            if around.parent is not None and around.parent.tag == "hashTree" and around.tag != "hashTree":
                return around
            if around.tag == "hashTree" and around.parent is not None and (before := head(around)) is not None:
                return before
        return None

    for node in every(tree(text)):
        is_test = node.parent.tag == "hashTree" and node.tag != "hashTree"
        is_item = node.parent.tag == "collectionProp" and node.tag in ("elementProp", "stringProp")
        if not is_test and not is_item:
            continue
        above = owner(node)
        if node.attributes.get("enabled") == "false" and is_test or id(above) in off:
            off.add(id(node))
        elif is_test:
            found[id(node)] = Element(node.tag, node.attributes.get("testname", ""), switched_off(text, node),
                                      found.get(id(above)))
            yield found[id(node)]
        elif not SILENT.search(list_name := node.parent.attributes.get("name", "")):
            kind = f"{above.tag}: {list_name}"
            yield Element(kind, node.attributes.get("name", ""), blank(text, node), found.get(id(above)))


def switched_off(text: bytes, node: Node) -> tuple:
    """The element as the checkbox of JMeter would leave it; lines stay where they are."""
    end = text.index(b">", node.begin)
    tag = text[node.begin:end]
    if b'enabled="' in tag:
        tag = re.sub(rb'enabled="\w*"', b'enabled="false"', tag)
    elif tag.endswith(b"/"):
        tag = tag[:-1] + b' enabled="false"/'
    else:
        tag += b' enabled="false"'
    return node.begin, end, tag


def blank(text: bytes, node: Node) -> tuple:
    return node.begin, node.end, re.sub(rb"[^\n]", b" ", text[node.begin:node.end])


def dumped(document) -> bytes:
    return json.dumps(document, indent=1, default=str).encode()


def listed(value, path: list) -> Iterator[tuple[object, list]]:
    """The entries of a list that are not switched off, with their paths."""
    if isinstance(value, list):
        for place, entry in enumerate(value):
            if not (isinstance(entry, dict) and (entry.get("disabled") or entry.get("enabled") is False)):
                yield entry, [*path, place]


def postman(text: bytes) -> Iterator[Element]:
    """Requests with their parts, folders, variables, authorization and lines of scripts."""
    document = json.loads(text.decode("utf-8-sig"))

    def element(kind: str, name: object, path: list) -> Element:
        return Element(kind, str(name), tuple(path))

    def common(holder: dict, path: list) -> Iterator[Element]:
        if isinstance(holder.get("auth"), dict):
            yield element("authorization", holder["auth"].get("type"), [*path, "auth"])
        for variable, place in listed(holder.get("variable"), [*path, "variable"]):
            yield element("variable", variable.get("key") or variable.get("id"), place)
        for event, place in listed(holder.get("event"), [*path, "event"]):
            script = event.get("script") or {}
            lines = script if isinstance(script, (str, list)) else script.get("exec") or []
            if not isinstance(script, dict) or isinstance(lines, str):
                yield element(f"script, {event['listen']}", lines, place)
                continue
            for number, line in enumerate(lines):
                if re.search(r"\w", line) and not NOTHING.search(line):
                    yield element(f"script, {event['listen']}", line, [*place, "script", "exec", number])

    def below(items: list, path: list) -> Iterator[Element]:
        for place, item in enumerate(items):
            here = [*path, place]
            yield from common(item, here)
            if "item" in item:
                yield element("folder", item.get("name"), here)
                yield from below(item["item"], [*here, "item"])
                continue
            yield element("request", item.get("name"), here)
            request = item.get("request")
            if not isinstance(request, dict):
                continue
            at = [*here, "request"]
            yield from (one for one in common(request, at) if one.kind == "authorization")
            for header, place_of in listed(request.get("header"), [*at, "header"]):
                name = str(header["key"] if isinstance(header, dict) else header)
                if name.lower() not in FRAMING:
                    yield element("header", name, place_of)
            url = request.get("url")
            if isinstance(url, dict) and "host" in url:
                for key in ("query", "variable"):
                    for entry, place_of in listed(url.get(key), [*at, "url", key]):
                        yield element(f"{key} of the URL", entry.get("key"), place_of)
            body = request.get("body") or {}
            mode = body.get("mode")
            if mode in ("urlencoded", "formdata"):
                for entry, place_of in listed(body.get(mode), [*at, "body", mode]):
                    yield element(f"field, {mode}", entry.get("key") if isinstance(entry, dict) else entry, place_of)
            elif body.get(mode or ""):
                yield element(f"body, {mode}", "", [*at, "body"])
            for key in item.get("protocolProfileBehavior") or {}:
                yield element("behaviour", key, [*here, "protocolProfileBehavior", key])

    yield from common(document, [])
    yield from below(document["item"], ["item"])


def openapi(text: bytes) -> Iterator[Element]:
    """Servers, operations, parameters, bodies and what secures operations."""
    document = yaml.safe_load(text)

    def element(kind: str, name: object, path: list) -> Element:
        return Element(kind, str(name), tuple(path))

    for server, place in listed(document.get("servers"), ["servers"]):
        yield element("server", server.get("url"), place)
    if document.get("security"):
        yield element("security", "of all operations", ["security"])
    components = document.get("components") or {}
    used = json.dumps([document.get("paths"), document.get("security")], default=str)
    for name in components.get("securitySchemes") or {}:
        if f'"{name}"' in used:
            yield element("security scheme", name, ["components", "securitySchemes", name])
    for path, item in (document.get("paths") or {}).items():
        for entry, place in listed(item.get("parameters"), ["paths", path, "parameters"]):
            yield element("parameter", f"{path} {entry.get('name') or entry.get('$ref')}", place)
        for method in METHODS:
            operation = item.get(method)
            if not operation:
                continue
            here, name = ["paths", path, method], f"{method.upper()} {path}"
            yield element("operation", name, here)
            for entry, place in listed(operation.get("parameters"), [*here, "parameters"]):
                yield element("parameter", f"{name} {entry.get('name') or entry.get('$ref')}", place)
            if "requestBody" in operation:
                yield element("request body", name, [*here, "requestBody"])
            if "security" in operation:
                yield element("security", name, [*here, "security"])


def without(kind: str, text: bytes, gone: list[Element]) -> bytes:
    """The file without these elements, of which none holds another."""
    if kind == "jmx":
        for begin, end, new in sorted((element.place for element in gone), reverse=True):
            text = text[:begin] + new + text[end:]
        return text
    document = loaded(kind, text)
    # From the back, so that places in lists stay what they are.
    for path in sorted((element.place for element in gone), key=lambda path: [str(key).zfill(9) for key in path],
                       reverse=True):
        holder = document
        for key in path[:-1]:
            holder = holder[key]
        del holder[path[-1]]
    return dumped(document)


def loaded(kind: str, text: bytes):
    return json.loads(text.decode("utf-8-sig")) if kind == "postman" else yaml.safe_load(text)


KINDS = {"jmx": jmx, "postman": postman, "openapi": openapi}
