//! Pages for a system's operators, `/healthz` and `/metrics`; and the state of its drain.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::watch;

/// Prometheus' text format, version 0.0.4.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A system as its operators see it.
pub trait Operations: Send + Sync + 'static {
    /// Whether the system is stopping.
    fn drain(&self) -> &Drain;

    /// Why it cannot serve requests at present, in one line; `None` when it can.
    fn problem(&self) -> Option<&'static str> {
        None
    }

    /// The text of [`Page::finish`](crate::metrics::Page::finish).
    ///
    /// # Errors
    /// The response to send instead when the figures cannot be read.
    fn metrics(self: Arc<Self>) -> impl Future<Output = Result<String, Response>> + Send;
}

/// Whether a system is stopping.
#[derive(Debug)]
pub struct Drain(watch::Sender<bool>);

impl Default for Drain {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Drain {
    /// From now on the system is stopping.
    pub fn begin(&self) {
        self.0.send_replace(true);
    }

    /// Whether the system is stopping.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Turns true when the system stops.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<bool> {
        self.0.subscribe()
    }
}

/// `/healthz` (200 `ready`, or 503 with the reason) and `/metrics`, to be merged into a system's routes.
pub fn operator_routes<S: Operations>(system: &Arc<S>) -> Router {
    Router::new()
        .route("/healthz", get(healthz::<S>))
        .route("/metrics", get(metrics::<S>))
        .with_state(Arc::clone(system))
}

async fn healthz<S: Operations>(State(system): State<Arc<S>>) -> Response {
    let problem = match system.drain().has_begun() {
        true => Some("draining"),
        false => system.problem(),
    };
    match problem {
        Some(problem) => (StatusCode::SERVICE_UNAVAILABLE, format!("{problem}\n")).into_response(),
        None => "ready\n".into_response(),
    }
}

async fn metrics<S: Operations>(State(system): State<Arc<S>>) -> Response {
    match system.metrics().await {
        Ok(text) => ([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        Err(response) => response,
    }
}
