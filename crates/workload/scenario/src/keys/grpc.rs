//! Keys of gRPC: the files that define services, and calls.

use super::Default::{Absent, Required, Said, Text};
use super::matching::{CHECKS, SAVES, TEMPLATES, WHEN, key};
use super::requests::STREAM_AUTH;
use super::tags::TAGS;
use super::{Kind, Table};

/// The keys of `grpc files`.
pub static GRPC_FILES: Table = Table {
    name: "grpc files",
    groups: &[&[
        key(
            "protos",
            Kind::OneOrMore(&Kind::Text),
            Required,
            "The `.proto` files with the services, as an `import` would name them",
        ),
        key(
            "import_paths",
            Kind::OneOrMore(&Kind::Text),
            Said("the scenario's directory"),
            "Directories in which `protos` and their imports are sought, in this order; relative to the scenario",
        ),
    ]],
};

pub(crate) static CALL: Table = Table {
    name: "grpc",
    groups: &[&[
        key(
            "grpc",
            Kind::Text,
            Required,
            "Calls a method: `package.Service/Method`. With a URL in front \
             (`https://host:port/package.Service/Method`) at another host than the target",
        ),
        key(
            "message",
            Kind::Json,
            Said("a message without fields"),
            "The request's message: its fields by name, checked against the `.proto` files",
        ),
        key(
            "metadata",
            TEMPLATES,
            Absent,
            "Metadata of the call. Values of names that end in `-bin` are base64",
        ),
        STREAM_AUTH,
        key(
            "deadline",
            Kind::Duration,
            Absent,
            "How long the call, with all its messages, may take from when it is sent; `grpc-timeout` states it to the server. \
             One that passes ends the call as `DEADLINE_EXCEEDED`",
        ),
        key(
            "gzip",
            Kind::Bool,
            Text("false"),
            "Compresses the request's messages, and accepts compressed replies",
        ),
        key(
            "status",
            Kind::OneOrMore(&Kind::Text),
            Text("OK"),
            "Statuses that are not an error: `NOT_FOUND`, `[OK, ALREADY_EXISTS]`",
        ),
        key(
            "expect",
            Kind::Mapping(&WHEN),
            Absent,
            "Conditions on the reply, which is JSON for them; one that does not hold is an error of kind `check`",
        ),
        key(
            "save",
            SAVES,
            Absent,
            "Parts of the reply to save in variables. `status` is the number of the call's status, `header` a name \
             of the response's metadata",
        ),
        key(
            "check",
            CHECKS,
            Absent,
            "Conditions, evaluated after `save`; a false one is an error of kind `check`",
        ),
        key("as", Kind::Text, Said("the method, as written"), "Name of the measure"),
        key(
            "timeout",
            Kind::Duration,
            Said("`options.timeout`"),
            "Limit from sending the call to its end, of which the server does not know",
        ),
        TAGS,
    ]],
};
