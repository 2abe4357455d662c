//! A server that freezes on a schedule: what its latencies must be is computed on paper.
//!
//! Every request is answered a fixed delay after it came. In the last part of every period the
//! server stalls: requests that come then are treated as if they had come when the stall ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use crate::alarm::{Alarm, now};
use crate::grpc;
use crate::threads::work;
use server::http::EitherTls;
use server::{Ready, ServerError, ServerOptions, Serving, Shutdown, Stop, ThreadWork, check_rules};

/// How the server delays its answers. The default answers in 1 ms and stalls for the last second
/// of every ten, on a free port of 127.0.0.1.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StallOptions {
    /// The address to listen on and the threads that serve it. One thread by default.
    pub server: ServerOptions,
    /// From a request to its answer.
    pub delay: Duration,
    /// How long a stall lasts; less than `every`.
    pub stall: Duration,
    /// The period: a stall ends whenever a multiple of it has passed since the start.
    pub every: Duration,
}

impl Default for StallOptions {
    fn default() -> Self {
        let mut server = ServerOptions::single_threaded();
        server.own_files = false;
        Self {
            server,
            delay: Duration::from_millis(1),
            stall: Duration::from_secs(1),
            every: Duration::from_secs(10),
        }
    }
}

impl StallOptions {
    /// As long as its times are on the machine's clock; see [`server::stretch`].
    fn stretched(mut self) -> Self {
        for time in [&mut self.delay, &mut self.stall, &mut self.every] {
            *time = server::stretch(*time);
        }
        self
    }

    /// From a request that comes `at` after the start to its answer.
    pub fn response_time(&self, at: Duration) -> Duration {
        let every = self.every.as_nanos();
        let stall = self.stall.as_nanos();
        if every == 0 {
            return self.delay;
        }
        let phase = at.as_nanos() % every;
        let left = if phase + stall >= every { every - phase } else { 0 };
        // Less than one period, and periods are given as a Duration.
        self.delay + Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX))
    }
}

/// Serves HTTP/1.1 and HTTP/2 until `shutdown` resolves: any request is answered 200 with the body `ok`, any call of
/// gRPC with a message without fields. `ready` is called with the address as soon as connections are accepted, which is when time starts.
///
/// # Errors
/// When the stall is not shorter than its period, the address cannot be listened at, or a thread
/// crashed.
pub fn serve(
    options: StallOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Serving<'static, (), ServerError> {
    Box::pin(serve_until(options, ready, shutdown))
}

async fn serve_until(
    options: StallOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Result<(), ServerError> {
    options.server.check()?;
    check_rules([(
        options.stall < options.every || options.stall.is_zero(),
        "the stall must be shorter than its period",
    )])?;
    let alarm = Arc::new(Alarm::start().map_err(ServerError::Process)?);
    let start = now();
    let server = options.server.clone();
    let options = Arc::new(options.stretched());
    let router = Router::new().fallback(move |request: Request| {
        let answer = answer(Arc::clone(&options), start, Arc::clone(&alarm));
        async move {
            answer.await;
            match is_call(&request) {
                true => grpc::reply(&[], false),
                false => "ok\n".into_response(),
            }
        }
    });
    let tls = server.tls.as_ref().map(EitherTls::load).transpose()?;
    let work =
        move |context| -> ThreadWork { Box::pin(work(context, tls.clone(), router.clone())) };
    server::serve(&server, work, ready, shutdown, || {}).await
}

/// [`serve`] on a runtime of its own, until `stop`.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(options: StallOptions, stop: Stop, ready: Ready) -> Result<(), ServerError> {
    let server = options.server.clone();
    server::run(&server, stop, |shutdown| serve(options, ready, shutdown))
}

/// True for a call of gRPC.
fn is_call(request: &Request) -> bool {
    let kind = request.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

async fn answer(options: Arc<StallOptions>, start: Instant, alarm: Arc<Alarm>) {
    let came = now();
    alarm.wait_until(came + options.response_time(came - start)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_times_on_paper() {
        let options = StallOptions::default();
        let ms = Duration::from_millis;
        for (at, expected) in [
            (0, 1),
            (8_999, 1),
            (9_000, 1_001),
            (9_500, 501),
            (9_999, 2),
            (10_000, 1),
            (19_250, 751),
        ] {
            assert_eq!(options.response_time(ms(at)), ms(expected), "at {at} ms");
        }
        let steady = StallOptions { stall: Duration::ZERO, ..options };
        assert_eq!(steady.response_time(ms(9_999)), ms(1));
    }
}
