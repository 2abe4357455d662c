//! Errors of requests.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::step::Step;

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestError {
    #[error("no such publisher")]
    NoPublisher,
    #[error("the maximum number of publishers is reached; use one of them")]
    TooManyPublishers,
    #[error("no such offer, or it is no longer kept")]
    NoOffer,
    #[error("{} must come first; this offer is at {}", wanted.name(), found.name())]
    TooEarly { wanted: Step, found: Step },
    #[error("{0}")]
    Invalid(&'static str),
    #[error("no such path")]
    NoPath,
    /// With the method that is.
    #[error("use {0}")]
    Method(&'static str),
    #[error("the body is too long")]
    TooLong,
    #[error("this event, or the one before it, is still being recorded; try again")]
    Pending,
    #[error("the store or the cache is overloaded; try again")]
    Busy,
    #[error("the record could not be stored")]
    Store,
    #[error("the cache cannot be reached")]
    Cache,
}

impl RequestError {
    fn status(&self) -> StatusCode {
        match self {
            RequestError::NoPublisher | RequestError::NoOffer | RequestError::NoPath => {
                StatusCode::NOT_FOUND
            }
            RequestError::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            RequestError::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            RequestError::TooEarly { .. } => StatusCode::CONFLICT,
            RequestError::Invalid(_) => StatusCode::BAD_REQUEST,
            RequestError::TooManyPublishers
            | RequestError::Pending
            | RequestError::Busy
            | RequestError::Store
            | RequestError::Cache => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Code of the error: one word for programs.
    fn code(&self) -> &'static str {
        match self {
            RequestError::NoPublisher => "no_publisher",
            RequestError::TooManyPublishers => "too_many_publishers",
            RequestError::NoOffer => "no_offer",
            RequestError::TooEarly { .. } => "too_early",
            RequestError::Invalid(_) => "invalid",
            RequestError::NoPath => "no_path",
            RequestError::Method(_) => "method",
            RequestError::TooLong => "too_long",
            RequestError::Pending | RequestError::Busy => "busy",
            RequestError::Store => "store",
            RequestError::Cache => "cache",
        }
    }
}

impl IntoResponse for RequestError {
    /// `{"error":{"code":…,"message":…}}`
    fn into_response(self) -> Response {
        let error = serde_json::json!({"code": self.code(), "message": self.to_string()});
        let body = Json(serde_json::json!({ "error": error }));
        let status = self.status();
        match self {
            RequestError::Method(allowed) => {
                (status, [(header::ALLOW, allowed)], body).into_response()
            }
            RequestError::Pending
            | RequestError::Busy
            | RequestError::Store
            | RequestError::Cache => (status, [(header::RETRY_AFTER, "1")], body).into_response(),
            _ => (status, body).into_response(),
        }
    }
}
