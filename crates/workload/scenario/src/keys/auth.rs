//! Credentials of users.

use super::Default::{Absent, Required, Text};
use super::matching::key;
use super::{Key, Kind, Table};

/// The keys of `auth`.
pub static AUTH: Table = Table {
    name: "auth",
    groups: &[&[
        Key {
            name: "basic",
            kind: Kind::Mapping(&CREDENTIALS),
            default: Absent,
            doc: "Sends a user name and a password with the request (RFC 7617)",
        },
        Key {
            name: "bearer",
            kind: Kind::Template,
            default: Absent,
            doc: "Sends a token with the request (RFC 6750)",
        },
        Key {
            name: "digest",
            kind: Kind::Mapping(&CREDENTIALS),
            default: Absent,
            doc: "Answers the server's challenge (RFC 7616); HTTP requests only",
        },
    ]],
};

/// The keys of `credentials`.
pub static CREDENTIALS: Table = Table {
    name: "credentials",
    groups: &[&[
        Key { name: "user", kind: Kind::Template, default: Required, doc: "The user name" },
        Key { name: "password", kind: Kind::Template, default: Required, doc: "The password" },
    ]],
};

/// `auth` of a step.
pub(super) const STEP_AUTH: Kind = Kind::Any(&[Kind::Mapping(&AUTH), Kind::Word(&["none"])]);

pub static SIGN: Table = Table {
    name: "sign",
    groups: &[&[Key {
        name: "aws",
        kind: Kind::Mapping(&AWS),
        default: Required,
        doc: "By AWS Signature Version 4",
    }]],
};

pub static AWS: Table = Table {
    name: "aws",
    groups: &[&[
        key(
            "service",
            Kind::Text,
            Required,
            "The service's name, as in its endpoints: `s3`, `execute-api`, `dynamodb`. The paths of S3 are signed as they \
             are, others without `.`, `..` and `//`",
        ),
        key("region", Kind::Template, Required, "Such as `eu-west-1`"),
        key("access_key", Kind::Template, Required, "The access key ID"),
        key("secret_key", Kind::Template, Required, "The secret access key"),
        key(
            "session_token",
            Kind::Template,
            Absent,
            "The token of temporary credentials; an empty one is none",
        ),
        key(
            "payload",
            Kind::Word(&["signed", "unsigned"]),
            Text("signed"),
            "Whether the body is signed, by its SHA-256. `unsigned` costs less for large bodies; services accept it over \
             TLS, S3 among them",
        ),
    ]],
};

/// `sign` of a step.
pub(super) const STEP_SIGN: Kind = Kind::Any(&[Kind::Mapping(&SIGN), Kind::Word(&["none"])]);
