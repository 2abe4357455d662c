//! Steps that open a connection or send something over HTTP: requests, their parts, WebSockets.

use super::Default::{Absent, Required, Said, Text};
use super::auth::{STEP_AUTH, STEP_SIGN};
use super::matching::{CHECKS, SAVES, TEMPLATES, key};
use super::{Key, Kind, Table};

pub(super) const STREAM_AUTH: Key = key(
    "auth",
    STEP_AUTH,
    Said("`options.auth`"),
    "The user's credentials: `basic` or `bearer`; `none` sends none",
);

pub(super) const AUTH: Key =
    key("auth", STEP_AUTH, Said("`options.auth`"), "The user's credentials; `none` sends none");

pub(super) const SIGN: Key = key(
    "sign",
    STEP_SIGN,
    Said("`options.sign`, unless the step has `auth`"),
    "Signs the request; `none` does not",
);

/// Expectations that a request may have of its server.
pub const EXPECTATIONS: &[&str] = &["100-continue"];

pub(super) const HTTP: &[Key] = &[
    key("headers", TEMPLATES, Absent, "Request headers"),
    key("body", Kind::Template, Absent, "Request body as text"),
    key(
        "cookies",
        TEMPLATES,
        Absent,
        "Additional cookies of this request. They override stored cookies of the same name",
    ),
    key("json", Kind::Json, Absent, "Request body as JSON, with its `content-type`"),
    key("form", TEMPLATES, Absent, "Request body as a form, with its `content-type`"),
    key(
        "multipart",
        PARTS,
        Absent,
        "Request body of several parts, with its `content-type`: form fields and files",
    ),
    key(
        "expect",
        Kind::Word(EXPECTATIONS),
        Absent,
        "`100-continue`: the body is sent once the server [says that it wants it](http.md#large-bodies)",
    ),
    AUTH,
    SIGN,
    key(
        "status",
        Kind::OneOrMore(&Kind::Scalar),
        Said("100 to 399"),
        "Statuses that are not an error: `200`, `[200, 302]`, `2xx`, `200..204`",
    ),
    key("save", SAVES, Absent, "Parts of the response to save in variables"),
    key(
        "check",
        CHECKS,
        Absent,
        "Conditions, evaluated after `save`; a false one is an error of kind `check`",
    ),
    key(
        "redirects",
        Kind::Count,
        Said(
            "`options.redirects`; 0 if `status` names a redirect or `save` reads the header `location`",
        ),
        "Redirects to follow, 0 to 50; 0: a redirect is the response",
    ),
    key(
        "as",
        Kind::Text,
        Said("method and path, as written, without the query"),
        "Name of the measure",
    ),
    key(
        "timeout",
        Kind::Duration,
        Said("`options.timeout`"),
        "Limit from sending the request to the end of the response",
    ),
];

const PARTS: Kind =
    Kind::Map(&Kind::OneOrMore(&Kind::Any(&[Kind::Template, Kind::Mapping(&PART)])));

/// The keys of `part`.
pub static PART: Table = Table {
    name: "part",
    groups: &[&[
        key(
            "file",
            Kind::Text,
            Absent,
            "A file, relative to the scenario; at most 16 MiB. All users share its bytes",
        ),
        key("value", Kind::Template, Absent, "A text, instead of `file`"),
        key("name", Kind::Text, Said("that of `file`"), "The file name that is sent"),
        key(
            "type",
            Kind::Text,
            Said("`application/octet-stream` for a file, else none"),
            "The content type of the part",
        ),
    ]],
};

/// The keys of `http request`.
pub static HTTP_REQUEST: Table = Table {
    name: "http request",
    groups: &[
        &[
            key("method", Kind::Text, Text("GET"), "The method"),
            key(
                "url",
                Kind::Template,
                Required,
                "A path relative to the target, or an absolute URL",
            ),
        ],
        HTTP,
    ],
};

pub(super) const WS: &[Key] = &[
    STREAM_AUTH,
    key("headers", TEMPLATES, Absent, "Headers of the upgrade request"),
    key("as", Kind::Text, Text("handshake"), "Name of the measure for connecting and upgrading"),
    key("timeout", Kind::Duration, Said("`options.timeout`"), "Limit for connecting and upgrading"),
];

/// The keys of `websocket`.
pub static WEBSOCKET: Table = Table {
    name: "websocket",
    groups: &[&[key("path", Kind::Template, Required, URL)], WS, super::channels::OPENING],
};

/// The URL of a step with a name of its own.
pub(super) const URL: &str = "A path relative to the target, or an absolute URL. `${raw(x)}` at \
                   the start takes either from a variable";
