//! What can be wrong with a request.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::offers::Step;

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("no such publisher")]
    NoPublisher,
    #[error("there are as many publishers as there may be; try one of them")]
    TooManyPublishers,
    #[error("no such offer, or one that is forgotten")]
    NoOffer,
    #[error("{} comes before this, and this offer is at {}", wanted.name(), found.name())]
    TooEarly { wanted: Step, found: Step },
    #[error("{0}")]
    Invalid(&'static str),
    #[error("too much waits for the store or the cache; try again")]
    Busy,
    #[error("the record could not be stored")]
    Store,
    #[error("the cache cannot be asked")]
    Cache,
}

impl Fault {
    fn status(&self) -> StatusCode {
        match self {
            Fault::NoPublisher | Fault::NoOffer => StatusCode::NOT_FOUND,
            Fault::TooEarly { .. } => StatusCode::CONFLICT,
            Fault::Invalid(_) => StatusCode::BAD_REQUEST,
            Fault::TooManyPublishers | Fault::Busy | Fault::Store | Fault::Cache => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    /// One word for programs.
    fn code(&self) -> &'static str {
        match self {
            Fault::NoPublisher => "no_publisher",
            Fault::TooManyPublishers => "too_many_publishers",
            Fault::NoOffer => "no_offer",
            Fault::TooEarly { .. } => "too_early",
            Fault::Invalid(_) => "invalid",
            Fault::Busy => "busy",
            Fault::Store => "store",
            Fault::Cache => "cache",
        }
    }
}

impl IntoResponse for Fault {
    /// `{"error":{"code":…,"message":…}}`
    fn into_response(self) -> Response {
        let error = serde_json::json!({"code": self.code(), "message": self.to_string()});
        (self.status(), Json(serde_json::json!({ "error": error }))).into_response()
    }
}
