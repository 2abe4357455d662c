//! Requests of a worker over HTTP.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use serde_json::json;
use server::metrics::Page;
use server::{Drain, Operations, operator_routes};

use super::metrics::Metrics;
use super::station::{Outcome, Station, Times};

/// Largest body of a request, in bytes.
const BODY_MAX: usize = 16 << 20;
/// The worker's name, in every answer to `/work`.
const WORKER: HeaderName = HeaderName::from_static("x-worker");
/// Field with the worker's region.
const REGION: HeaderName = HeaderName::from_static("x-region");
/// How long the request waited for its turn, in milliseconds.
const QUEUE_MS: HeaderName = HeaderName::from_static("x-queue-ms");
/// How long it was worked on, in milliseconds.
const WORK_MS: HeaderName = HeaderName::from_static("x-work-ms");

/// A worker, as its threads share it.
pub(super) struct Worker {
    pub(super) station: Station,
    pub(super) metrics: Metrics,
    pub(super) drain: Drain,
}

impl Operations for Worker {
    fn drain(&self) -> &Drain {
        &self.drain
    }

    async fn metrics(self: Arc<Self>) -> Result<String, Response> {
        let mut page = Page::new("worker");
        self.metrics.write(&mut page, &self.station.load());
        Ok(page.finish())
    }
}

/// All routes. While the worker is frozen none of them answers.
pub(super) fn router(worker: &Arc<Worker>) -> Router {
    Router::new()
        .route("/work", any(work))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .route("/load", get(load))
        .with_state(Arc::clone(worker))
        .merge(operator_routes(worker))
        .layer(from_fn_with_state(Arc::clone(worker), once_thawed))
}

async fn once_thawed(State(worker): State<Arc<Worker>>, request: Request, next: Next) -> Response {
    worker.station.thawed().await;
    next.run(request).await
}

async fn work(State(worker): State<Arc<Worker>>, _body: Bytes) -> Response {
    let outcome = worker.station.work().await;
    worker.metrics.count(outcome);
    let options = worker.station.options();
    let name = &options.name;
    let region = &options.region;
    let mut headers = HeaderMap::new();
    // Options are checked: these are visible ASCII.
    let both = [(WORKER, name), (REGION, region)];
    headers.extend(
        both.into_iter().filter_map(|(key, value)| Some((key, HeaderValue::from_str(value).ok()?))),
    );
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let status = match outcome {
        Outcome::Done(_) => StatusCode::OK,
        Outcome::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        Outcome::Refused => StatusCode::SERVICE_UNAVAILABLE,
    };
    let times = match outcome {
        Outcome::Done(times) => times,
        Outcome::Failed | Outcome::Refused => Times::default(),
    };
    let queue = ms(times.queue);
    let work = ms(times.work);
    let both = [(QUEUE_MS, queue), (WORK_MS, work)];
    headers.extend(
        both.into_iter().filter_map(|(key, value)| {
            Some((key, HeaderValue::from_str(&value.to_string()).ok()?))
        }),
    );
    let mut body = json!({ "worker": name, "region": region, "queue_ms": queue, "work_ms": work });
    match outcome {
        Outcome::Done(_) => {}
        Outcome::Failed => body["error"] = "failed".into(),
        Outcome::Refused => body["error"] = "queue full".into(),
    }
    (status, headers, body.to_string()).into_response()
}

/// Milliseconds with microseconds after the point.
fn ms(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e3
}

async fn load(State(worker): State<Arc<Worker>>) -> Response {
    let load = worker.station.load();
    let options = worker.station.options();
    let body = json!({
        "in_flight": load.in_flight,
        "waiting": load.waiting,
        "concurrency": options.concurrency,
        "done": worker.metrics.done.get(),
        "failed": worker.metrics.failed.get(),
        "work_s": worker.metrics.work_s(),
        "latency_ms": load.latency_s.map(|latency| (latency * 1e6).round() / 1e3),
    });
    ([(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
