#!/usr/bin/env python3
"""Posts a file of Markdown as comment of the pull or merge request that this job belongs to, or replaces the comment
whose first line is the same: ci/comment.py FILE

On GitHub it needs GITHUB_TOKEN with `pull-requests: write`, on GitLab THRONG_GITLAB_TOKEN with the scope `api`. A
comment that cannot be posted is a warning: the job's result is the comparison's.
"""

import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

TIMEOUT_S = 30
PAGES_MAX = 20
PER_PAGE = 100
# GitHub accepts 65,536 characters.
CHARACTERS_MAX = 65_000
SHORTENED = "\n\nThe rest does not fit into a comment; the job's artefacts hold all of it.\n"


class Host:
    """The comments of one request for a merge."""

    def __init__(self, comments, one, method, headers):
        self.comments = comments
        self.one = one
        self.method = method
        self.headers = {**headers, "Content-Type": "application/json", "User-Agent": "throng"}

    def call(self, method, url, value=None):
        data = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(url, data, self.headers, method=method)
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            return json.load(response)

    def known(self, marker):
        """The id of the comment that begins with this line."""
        for page in range(1, PAGES_MAX + 1):
            found = self.call("GET", f"{self.comments}?per_page={PER_PAGE}&page={page}")
            for comment in found:
                if comment["body"].splitlines()[:1] == [marker]:
                    return comment["id"]
            if len(found) < PER_PAGE:
                return None
        return None

    def post(self, text):
        known = self.known(text.splitlines()[0])
        if known is None:
            self.call("POST", self.comments, {"body": text})
            return "posted"
        self.call(self.method, self.one.format(id=known), {"body": text})
        return "replaced"


def github(env):
    event = json.loads(pathlib.Path(env["GITHUB_EVENT_PATH"]).read_text())
    number = event.get("pull_request", {}).get("number")
    if number is None or not env.get("GITHUB_TOKEN"):
        return None
    issues = f"{env['GITHUB_API_URL']}/repos/{env['GITHUB_REPOSITORY']}/issues"
    headers = {"Authorization": f"Bearer {env['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
    return Host(f"{issues}/{number}/comments", issues + "/comments/{id}", "PATCH", headers)


def gitlab(env):
    number, token = env.get("CI_MERGE_REQUEST_IID"), env.get("THRONG_GITLAB_TOKEN")
    if not number or not token:
        return None
    notes = f"{env['CI_API_V4_URL']}/projects/{env['CI_PROJECT_ID']}/merge_requests/{number}/notes"
    return Host(notes, notes + "/{id}", "PUT", {"PRIVATE-TOKEN": token})


def main(file):
    text = pathlib.Path(file).read_text()
    if len(text) > CHARACTERS_MAX:
        text = text[: CHARACTERS_MAX - len(SHORTENED)] + SHORTENED
    env = os.environ
    host = github(env) if env.get("GITHUB_ACTIONS") else gitlab(env)
    if host is None:
        print("no comment: this is no pull or merge request, or there is no token")
        return
    try:
        print(f"comment {host.post(text)}")
    except (urllib.error.URLError, TimeoutError) as error:
        print(f"warning: the comment cannot be posted: {error}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
