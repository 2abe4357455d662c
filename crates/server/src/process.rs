//! A process that does nothing but serve.

use std::io;

use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::threads::raise_open_files;

/// What ends a served system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// SIGINT or SIGTERM.
    Signal,
    /// Those, or the end of standard input: the system never outlives what started it.
    SignalOrStdin,
}

/// Raises the limit on open files, then runs `serve` on a runtime of its own with a future that
/// resolves at `stop`.
pub fn run_until<T, S>(stop: Stop, serve: impl FnOnce(Stopped) -> S) -> io::Result<T>
where
    S: Future<Output = T>,
{
    raise_open_files()?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let stopped: Stopped = Box::pin(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                () = stdin_ended(stop) => {}
            }
        });
        Ok(serve(stopped).await)
    });
    // A thread may be reading standard input, which never returns while that is open.
    runtime.shutdown_background();
    result
}

/// Resolves when it is time to stop.
pub type Stopped = std::pin::Pin<Box<dyn Future<Output = ()>>>;

/// Resolves at the end of standard input, where that means stopping; never otherwise.
async fn stdin_ended(stop: Stop) {
    if stop == Stop::Signal {
        return std::future::pending().await;
    }
    let read = tokio::task::spawn_blocking(|| io::copy(&mut io::stdin().lock(), &mut io::sink()));
    // However the reading ended, there is nothing more to be read.
    let _ = read.await;
}
