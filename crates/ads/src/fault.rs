//! What can be wrong with a request.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::step::Step;

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
    #[error("no such path")]
    NoPath,
    /// With the method that is.
    #[error("this is asked by {0}")]
    Method(&'static str),
    #[error("the body is too long")]
    TooLong,
    #[error("this event, or the one before it, is still being recorded; try again")]
    Pending,
    #[error("too much waits for the store or the cache; try again")]
    Busy,
    #[error("the record could not be stored")]
    Store,
    #[error("the cache cannot be reached")]
    Cache,
}

impl Fault {
    fn status(&self) -> StatusCode {
        match self {
            Fault::NoPublisher | Fault::NoOffer | Fault::NoPath => StatusCode::NOT_FOUND,
            Fault::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Fault::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Fault::TooEarly { .. } => StatusCode::CONFLICT,
            Fault::Invalid(_) => StatusCode::BAD_REQUEST,
            Fault::TooManyPublishers
            | Fault::Pending
            | Fault::Busy
            | Fault::Store
            | Fault::Cache => StatusCode::SERVICE_UNAVAILABLE,
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
            Fault::NoPath => "no_path",
            Fault::Method(_) => "method",
            Fault::TooLong => "too_long",
            Fault::Pending | Fault::Busy => "busy",
            Fault::Store => "store",
            Fault::Cache => "cache",
        }
    }
}

impl IntoResponse for Fault {
    /// `{"error":{"code":…,"message":…}}`
    fn into_response(self) -> Response {
        let error = serde_json::json!({"code": self.code(), "message": self.to_string()});
        let body = Json(serde_json::json!({ "error": error }));
        let status = self.status();
        match self {
            Fault::Method(allowed) => (status, [(header::ALLOW, allowed)], body).into_response(),
            Fault::Pending | Fault::Busy | Fault::Store | Fault::Cache => {
                (status, [(header::RETRY_AFTER, "1")], body).into_response()
            }
            _ => (status, body).into_response(),
        }
    }
}
