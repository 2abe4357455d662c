//! A process that does nothing but serve one system.

use std::io;

use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::error::ServerError;
use crate::options::ServerOptions;
use crate::threads::{limit_open_files, raise_open_files};

/// What stops a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// SIGINT or SIGTERM.
    Signal,
    /// Those, or the end of standard input: the system never outlives the process that started it.
    SignalOrStdin,
}

/// Resolves when it is time to stop.
pub type Shutdown = std::pin::Pin<Box<dyn Future<Output = ()>>>;

/// Sets the limit on open files, to `options.files` or as high as it goes, then runs `serve` on a runtime of
/// its own with a future that resolves at `stop`. For a process that does nothing else.
///
/// # Errors
/// Those of `serve`, and when the process cannot be set up.
pub fn run<T, E, S>(
    options: &ServerOptions,
    stop: Stop,
    serve: impl FnOnce(Shutdown) -> S,
) -> Result<T, E>
where
    S: Future<Output = Result<T, E>>,
    E: From<ServerError>,
{
    let result = run_until(options.files, stop, serve);
    result.map_err(|error| E::from(ServerError::Process(error)))?
}

fn run_until<T, S>(
    files: Option<u32>,
    stop: Stop,
    serve: impl FnOnce(Shutdown) -> S,
) -> io::Result<T>
where
    S: Future<Output = T>,
{
    raise_open_files()?;
    if let Some(files) = files {
        limit_open_files(files)?;
    }
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let shutdown: Shutdown = Box::pin(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                () = stdin_ended(stop) => {}
            }
        });
        Ok(serve(shutdown).await)
    });
    // A thread may be blocked in a read of standard input.
    runtime.shutdown_background();
    result
}

/// Resolves at the end of standard input, where that means stopping; never otherwise.
async fn stdin_ended(stop: Stop) {
    if stop == Stop::Signal {
        return std::future::pending().await;
    }
    let read = tokio::task::spawn_blocking(|| io::copy(&mut io::stdin().lock(), &mut io::sink()));
    // An error ends the input as well.
    let _ = read.await;
}
