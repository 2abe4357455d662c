//! A process that does nothing but serve one system.

use std::io;

use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::error::ServerError;
use crate::options::ServerOptions;
use crate::serving::Shutdown;
use crate::threads::{limit_open_files, raise_open_files};

/// Signals and conditions that stop a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// SIGINT or SIGTERM.
    Signal,
    /// Those, or the end of standard input: the system never outlives the process that started it.
    SignalOrStdin,
}

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
    let input_end = match stop {
        Stop::Signal => None,
        Stop::SignalOrStdin => Some(end_of_stdin()?),
    };
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let shutdown: Shutdown = Box::pin(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                () = ended(input_end) => {}
            }
        });
        Ok(serve(shutdown).await)
    });
    runtime.shutdown_background();
    result
}

/// Notice of the end of standard input, from a thread that may be blocked in a read for as long as the process
/// lives. A runtime's own thread would panic where none can be started (`ulimit -v`, `ulimit -u`).
fn end_of_stdin() -> io::Result<oneshot::Receiver<()>> {
    let (end, ended) = oneshot::channel();
    let thread = std::thread::Builder::new().name("stdin".to_owned());
    thread.spawn(move || {
        // An error ends the input as well.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        // Nobody waits for it any more if the system has stopped.
        let _ = end.send(());
    })?;
    Ok(ended)
}

/// Resolves at the end of the input, if there is one that means stopping; never otherwise.
async fn ended(input_end: Option<oneshot::Receiver<()>>) {
    match input_end {
        // A thread that is gone has seen the end as well.
        Some(end) => drop(end.await),
        None => std::future::pending().await,
    }
}
