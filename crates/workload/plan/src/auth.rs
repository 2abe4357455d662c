//! Authentication that needs a server's challenge, or the whole request. What does not, basic and bearer, is a header.

use serde::Serialize;

use crate::expr::Template;

/// Credentials that answer digest challenges (RFC 7616).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Digest {
    pub user: Template,
    pub password: Template,
}

/// Credentials that sign requests by AWS Signature Version 4.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Aws {
    /// As in the service's endpoint. What is signed depends on it.
    pub service: String,
    pub region: Template,
    pub access_key: Template,
    pub secret_key: Template,
    /// The session token of temporary credentials.
    pub session_token: Option<Template>,
    /// The body is part of what is signed.
    pub signs_body: bool,
}
