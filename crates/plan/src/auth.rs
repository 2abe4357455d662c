//! Authentication that needs a server's challenge. What does not, basic and bearer, is a header.

use serde::Serialize;

use crate::expr::Template;

/// Who answers digest challenges (RFC 7616).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Digest {
    pub user: Template,
    pub password: Template,
}
