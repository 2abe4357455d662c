//! Errors of requests, whatever transport they came by.

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestError {
    #[error("not JSON: {0}")]
    Malformed(String),
    #[error("{0}")]
    Invalid(String),
    #[error("a message must be at most {max} bytes long")]
    TooLong { max: usize },
    #[error("a room's name must be 1 to 64 letters, digits, '-', '.', '_' or '~'")]
    BadRoom,
    #[error("the maximum of {max} rooms is reached")]
    TooManyRooms { max: usize },
    #[error("too many messages are waiting to be stored; try again")]
    Busy,
    #[error("the message could not be stored")]
    Store,
}

impl RequestError {
    /// The fault of a text that could not be read.
    pub(super) fn unreadable(error: &serde_json::Error) -> Self {
        if error.is_data() {
            Self::Invalid(error.to_string())
        } else {
            Self::Malformed(error.to_string())
        }
    }

    /// Code of the error: one word for programs.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Invalid(_) => "invalid",
            Self::TooLong { .. } => "too_long",
            Self::BadRoom => "bad_room",
            Self::TooManyRooms { .. } => "too_many_rooms",
            Self::Busy => "busy",
            Self::Store => "store",
        }
    }

    /// `{"error":{"code":…,"message":…}}`
    pub(super) fn json(&self) -> String {
        let error = serde_json::json!({"code": self.code(), "message": self.to_string()});
        serde_json::json!({ "error": error }).to_string()
    }
}
