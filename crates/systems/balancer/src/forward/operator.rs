//! The side of a balancer for its operators: `/metrics`, `/healthz` and `/backends` at an address of their
//! own, a reload of the backends by SIGHUP, and checks of their health.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;
use server::http::{ConnectionLimits, serve_connections};
use server::{Drain, Operations, ServerError, ServerOptions, operator_routes};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior};

use super::checks::{is_healthy, work_report};
use super::router::Router;
use crate::backends::BackendsError;
use crate::health::Sign;

/// Most connections of operators at once.
const CONNECTIONS_MAX: usize = 100;

impl Operations for Router {
    fn drain(&self) -> &Drain {
        &self.drain
    }

    fn problem(&self) -> Option<&'static str> {
        let states = self.shared.states(self.now_ns());
        let none_up = !states.iter().any(|state| state.up);
        none_up.then_some("no backend is up")
    }

    async fn metrics(self: Arc<Self>) -> Result<String, Response> {
        Ok(self.metrics.text(&self.shared, self.now_ns()))
    }
}

async fn backends(State(router): State<Arc<Router>>) -> Response {
    let states = router.shared.states(router.now_ns());
    let rows = states.iter().map(|state| {
        json!({
            "name": state.name,
            "region": state.region,
            "up": state.up,
            "ejected": state.ejected,
            "in_flight": state.in_flight,
            "weight": state.weight,
            "requests": state.requests,
            "failures": state.failures,
        })
    });
    let body = json!({
        "policy": router.options.policy.name(),
        "backends": rows.collect::<Vec<_>>(),
    });
    ([(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// Serves operators until `shutdown` resolves.
///
/// # Errors
/// If the address cannot be listened on, or the thread crashed.
pub(crate) async fn operate(
    router: &Arc<Router>,
    listen: SocketAddr,
    ready: impl FnOnce(SocketAddr) + Send,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), ServerError> {
    let mut options = ServerOptions::single_threaded();
    options.listen = listen;
    options.own_files = false;
    let limits = ConnectionLimits {
        connections_max: CONNECTIONS_MAX,
        stop_within: router.options.server.stop_within,
    };
    let routes = axum::Router::new()
        .route("/backends", get(backends))
        .with_state(Arc::clone(router))
        .merge(operator_routes(router));
    let counts = Arc::default();
    let work =
        move |context| serve_connections(context, limits, Arc::clone(&counts), routes.clone());
    server::serve(&options, work, ready, shutdown, || {}).await
}

/// Checks backends, learns their weights and reads their list again at SIGHUP, for ever. `reloaded` gets the result of
/// the latter.
///
/// # Errors
/// If signals cannot be received.
pub(crate) async fn keep(
    router: &Arc<Router>,
    reloaded: impl Fn(Result<usize, BackendsError>),
) -> std::io::Result<()> {
    let mut hangups = signal(SignalKind::hangup())?;
    let reloads = async {
        while hangups.recv().await.is_some() {
            if let Some(result) = reload(router).await {
                router.metrics.reloads.add(u64::from(result.is_ok()));
                reloaded(result);
            }
        }
    };
    tokio::join!(reloads, check_all(router), learn(router));
    Ok(())
}

/// Reads the list on a thread of its own: it may wait for the disk and for look-ups.
async fn reload(router: &Arc<Router>) -> Option<Result<usize, BackendsError>> {
    let (done, is_done) = oneshot::channel();
    let own = Arc::clone(router);
    let thread = std::thread::Builder::new().name("reload".to_owned());
    // Nobody waits any more if the balancer was stopped meanwhile.
    let started = thread.spawn(move || drop(done.send(own.reload())));
    match started {
        Ok(_) => is_done.await.ok(),
        Err(error) => Some(Err(BackendsError::Read {
            path: std::path::PathBuf::from("the list of backends"),
            reason: error.to_string(),
        })),
    }
}

/// Ticks that are this far apart, also behind one that was late.
fn every(period: Duration) -> Interval {
    let mut times = tokio::time::interval(period);
    times.set_missed_tick_behavior(MissedTickBehavior::Delay);
    times
}

/// Checks all backends again and again, if they are to be checked.
async fn check_all(router: &Arc<Router>) {
    let health = &router.options.health;
    let Some(path) = &health.path else {
        return;
    };
    let mut times = every(health.every);
    loop {
        times.tick().await;
        let list = router.shared.list();
        let mut checks = JoinSet::new();
        for (at, backend) in list.backends.iter().enumerate() {
            let address = backend.address;
            let name = backend.member.name.clone();
            let path = path.clone();
            let within = health.timeout;
            checks.spawn(async move { (at, is_healthy(address, &name, &path, within).await) });
        }
        while let Some(checked) = checks.join_next().await {
            match checked {
                Ok((at, Some(healthy))) => {
                    let sign = if healthy { Sign::Good } else { Sign::Bad };
                    router.shared.checked(&list, at, sign, router.now_ns());
                }
                Ok((_, None)) => router.metrics.local_failures.add(1),
                Err(_) => {}
            }
        }
    }
}

/// Collects what backends report of their work again and again, if weights are learned.
async fn learn(router: &Arc<Router>) {
    let Some(learn) = &router.options.learn else {
        return;
    };
    let mut times = every(learn.every);
    loop {
        times.tick().await;
        let list = router.shared.list();
        let mut queries = JoinSet::new();
        for (at, backend) in list.backends.iter().enumerate() {
            let address = backend.address;
            let name = backend.member.name.clone();
            queries.spawn(async move { Some((at, work_report(address, &name).await?)) });
        }
        let answers = queries.join_all().await;
        let reports: Vec<_> = answers.into_iter().flatten().collect();
        router.metrics.reports.add(reports.len() as u64);
        router.shared.reported(&list, &reports, router.now_ns());
    }
}
