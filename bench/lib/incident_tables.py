"""What bench/incident saw, as a table and as texts."""

import re

from lib.tables import table

# More lines of a text are left out, and the page says how many.
LINES_MAX = 70
NAMES = {"throng": "Throng", "k6": "k6", "gatling": "Gatling", "locust": "Locust"}
# Facts of the incident, and what a text that has one matches. Its begin and its end may be a second off.
FACTS = {
    "the step: `checkout`": r"\bcheckout\b",
    "the status: 503": r"\b503\b",
    "how many failed": r"\b{failed}\b",
    "how long it took: 400 ms": r"\b(39|40|41)\d(\.\d+)?(| ?ms)\b",
    "its begin: 0:15": r"\b0?0:1[456]\b",
    "its end: 0:25": r"\b0?0:2[456]\b",
}


def has(tool: dict, pattern: str) -> str:
    """Whether a tool printed it; the number that failed is that of its own run."""
    pattern = pattern.replace("{failed}", str(tool["served"]["failed"]))
    return "yes" if re.search(pattern, tool["text"]) else "–"


def sections(raw: dict) -> list[str]:
    """A table of which facts stand in which text, and the texts."""
    tools = raw["tools"]
    ran = {name: tool for name, tool in tools.items() if "text" in tool}
    rows = [[fact, *(has(tool, pattern) for tool in ran.values())] for fact, pattern in FACTS.items()]
    rows.append(["exit code", *(str(tool["code"]) for tool in ran.values())])
    rows.append(["lines", *(str(len(tool["text"].splitlines())) for tool in ran.values())])
    lines = table(["printed at the end", *(NAMES[name] for name in ran)], rows)
    for name, tool in tools.items():
        lines += ["", f"### {NAMES[name]}", ""]
        if name not in ran:
            lines.append(f"Not here: {tool['reason']}")
            continue
        true = tool["served"]
        # What is built here has no version of its own.
        version = "" if name == "throng" else f" {tool['version'].removeprefix('v')}"
        lines += [f"{NAMES[name]}{version}. The shop served {true['checkouts']} checkouts in the incident, {true['failed']} "
                  f"of them with 503, the others with a median of {true['p50_ms']:.0f} ms.", "", *block(tool["text"])]
    return lines


def terminal(raw: dict) -> list[str]:
    """What Throng prints, alone."""
    return block(raw["text"])


def block(text: str) -> list[str]:
    """A text as it was printed, its first lines if there are too many."""
    lines = text.rstrip("\n").split("\n")
    shown = lines[:LINES_MAX]
    if len(lines) > LINES_MAX:
        shown.append(f"… ({len(lines) - LINES_MAX} more lines)")
    return ["```text", *shown, "```"]
