//! Targets of the requests in single lines of a log.

use std::collections::HashMap;

/// Method and target of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RequestTarget {
    pub(crate) method: String,
    pub(crate) target: String,
}

/// Methods and targets of lines, by their places in the log.
pub(crate) type LineTargets = HashMap<u64, RequestTarget>;
