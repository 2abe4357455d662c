//! Keys of GraphQL: operations over HTTP, and over a WebSocket.

use super::Default::{Absent, Required, Said, Text};
use super::matching::{CHECKS, SAVES, TEMPLATES, key};
use super::requests::{AUTH, SIGN};
use super::tags::TAGS;
use super::{Key, Kind, Table};

const QUERY: Key =
    key("query", Kind::Template, Required, "The document: one operation or several, and fragments");
const VARIABLES: Key =
    key("variables", Kind::Json, Absent, "The operation's variables, as a mapping");
const OPERATION: Key =
    key("operation", Kind::Template, Absent, "The name of the operation, if `query` has several");
const AS: Key = key(
    "as",
    Kind::Text,
    Said("the operation's name as written, else the step's"),
    "Name of the measure",
);

/// The keys of `graphql request`.
pub static GRAPHQL_REQUEST: Table = Table {
    name: "graphql request",
    groups: &[&[
        key(
            "path",
            Kind::Template,
            Text("/graphql"),
            "A path relative to the target, or an absolute URL",
        ),
        QUERY,
        VARIABLES,
        OPERATION,
        key(
            "partial",
            Kind::Bool,
            Text("false"),
            "Errors beside data that is not `null` are no failure",
        ),
    ]],
};

pub(crate) static GRAPHQL: Table = Table {
    name: "graphql",
    groups: &[&[
        key(
            "graphql",
            Kind::Mapping(&GRAPHQL_REQUEST),
            Required,
            "Sends an operation of GraphQL in a POST request and waits for its answer. Errors in it are an error of kind \
             `graphql`",
        ),
        key("headers", TEMPLATES, Absent, "Request headers"),
        key("cookies", TEMPLATES, Absent, "Additional cookies of this request"),
        AUTH,
        SIGN,
        key(
            "status",
            Kind::OneOrMore(&Kind::Scalar),
            Said("100 to 399"),
            "Statuses that are not an error",
        ),
        key(
            "save",
            SAVES,
            Absent,
            "Parts of the answer to save in variables: `/data/…`, `/errors/…`",
        ),
        key(
            "check",
            CHECKS,
            Absent,
            "Conditions, evaluated after `save`; a false one is an error of kind `check`",
        ),
        key(
            "redirects",
            Kind::Count,
            Said("`options.redirects`"),
            "Redirects to follow, 0 to 50; 0: a redirect is the answer",
        ),
        AS,
        key(
            "timeout",
            Kind::Duration,
            Said("`options.timeout`"),
            "Limit from sending the request to the end of the answer",
        ),
        TAGS,
    ]],
};

/// The keys of `subscribed`.
pub static SUBSCRIBED: Table = Table {
    name: "subscribed",
    groups: &[&[
        QUERY,
        VARIABLES,
        OPERATION,
        key(
            "id",
            Kind::Template,
            Said("the name of the measure"),
            "The operation's id on the connection, which is the `topic` of its messages",
        ),
    ]],
};
