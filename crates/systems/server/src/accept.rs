//! The accept loop.

use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

/// How long to leave the listener alone after it failed, most often for want of open files.
pub(crate) const BREATH: Duration = Duration::from_millis(20);

/// Accepts for ever: each connection goes to `open`, each failure to `failed`.
pub async fn accept_all(
    listener: &TcpListener,
    mut open: impl FnMut(TcpStream),
    mut failed: impl FnMut(std::io::Error),
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => open(stream),
            Err(error) => {
                failed(error);
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}
