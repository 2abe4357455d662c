//! Authentication that needs a server's challenge. What does not, basic and bearer, is a header.

use crate::expr::Template;

/// Who answers digest challenges (RFC 7616).
#[derive(Debug, Clone, PartialEq)]
pub struct Digest {
    pub user: Template,
    pub password: Template,
}
