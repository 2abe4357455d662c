//! Signals that a worker takes. They come to a whole process, and any of its runtimes may be the one that passes them on:
//! also that of a serving thread with a file table of its own, which knows no runtime that was made later. So this is a
//! process of its own with one server at a time, as `throng serve` is.
#![expect(clippy::unwrap_used, reason = "the tests' helpers fail tests by panicking, too")]

use std::time::Duration;

use running::{Running, options};
use rustix::process::{Signal, getpid, kill_process};
use targets::worker::Fault;
use testkit::http::soon;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

#[path = "it/worker/running.rs"]
mod running;

/// One test, as each worker of the process gets all signals.
#[tokio::test]
async fn signals_begin_faults_and_end_them() {
    let send = |signal| kill_process(getpid(), signal).unwrap();
    let mut failing = options(1.0, 1, 10);
    failing.error_rate = 1.0;
    failing.errors_from = Duration::MAX;
    (failing.on_usr1, failing.on_usr2) = (Some(Fault::Errors), Some(Fault::Freeze));
    let worker = Running::start(failing).await;
    assert_eq!(worker.work().await.0, 200);
    send(Signal::USR1);
    soon(async { while worker.work().await.0 != 500 {} }).await;
    let (_, body) = worker.work().await;
    assert_eq!((&body["queue_ms"], &body["work_ms"]), (&0.0.into(), &0.0.into()));
    send(Signal::USR1);
    soon(async { while worker.work().await.0 != 200 {} }).await;
    send(Signal::USR2);
    let frozen = async {
        // It may take a moment until the signal is there.
        while timeout(Duration::from_millis(300), worker.work()).await.is_ok() {}
    };
    soon(frozen).await;
    send(Signal::USR2);
    assert_eq!(soon(worker.work()).await.0, 200);
    worker.stop().await;

    let mut slow = options(200.0, 1, 10);
    slow.pace.slow_factor = 1000.0;
    (slow.on_usr1, slow.on_usr2) = (Some(Fault::Slow), Some(Fault::Restart));
    let worker = Running::start(slow).await;
    let begun = Instant::now();
    let turns = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        send(Signal::USR1);
        tokio::time::sleep(Duration::from_millis(300)).await;
        send(Signal::USR1);
    };
    // A request in progress becomes slow and fast again with its worker.
    let ((status, _), ()) = tokio::join!(worker.work(), turns);
    let took = begun.elapsed();
    assert_eq!(status, 200);
    assert!(took > Duration::from_millis(450) && took < Duration::from_secs(10), "{took:?}");
    send(Signal::USR2);
    let reached = || async { TcpStream::connect(worker.address).await.is_ok() };
    soon(async { while reached().await {} }).await;
    soon(async { while !reached().await {} }).await;
    assert_eq!(worker.stop().await.restarts, 1);
}
