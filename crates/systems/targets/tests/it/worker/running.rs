//! A worker that runs for a test.

use std::net::SocketAddr;

use serde_json::Value;
use server::ServerError;
use stats::dist::Dist;
use targets::worker::{self, Report, WorkerOptions};
use testkit::http::{get, soon};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<Report, ServerError>>,
}

impl Running {
    pub(crate) async fn start(options: WorkerOptions) -> Running {
        let (ready, address) = oneshot::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let ready = Box::new(move |address| ready.send(address).unwrap());
        let shutdown = Box::pin(async { drop(stopped.await) });
        let served = tokio::spawn(worker::serve(options, ready, shutdown));
        let address = soon(address).await.unwrap();
        Running { address, stop, served }
    }

    pub(crate) async fn work(&self) -> (u16, Value) {
        let (status, body) = get(self.address, "/work").await;
        (status, serde_json::from_str(&body).unwrap())
    }

    pub(crate) async fn stop(self) -> Report {
        self.stop.send(()).unwrap();
        soon(self.served).await.unwrap().unwrap()
    }
}

pub(crate) fn options(service_ms: f64, concurrency: usize, queue: usize) -> WorkerOptions {
    let mut options = WorkerOptions::default();
    options.service_time = Dist::Constant(service_ms / 1e3);
    (options.concurrency, options.queue) = (concurrency, queue);
    options
}
