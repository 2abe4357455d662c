//! Who users are to servers.

use super::Default::{Absent, Required};
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
        Key {
            name: "user",
            kind: Kind::Template,
            default: Required,
            doc: "The user name",
        },
        Key {
            name: "password",
            kind: Kind::Template,
            default: Required,
            doc: "The password",
        },
    ]],
};

/// `auth` of a step.
pub(super) const STEP_AUTH: Kind = Kind::Any(&[Kind::Mapping(&AUTH), Kind::Word(&["none"])]);
