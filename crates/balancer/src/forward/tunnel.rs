//! Connections that became WebSockets: bytes in both directions, whatever they mean.

use std::rc::Rc;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::pool::Pool;

/// Passes bytes both ways until both ends have ended. Nothing but the two sockets is kept while neither sends.
pub(super) async fn tunnel(
    pool: &Rc<Pool>,
    (client, from_client): (&mut TcpStream, Vec<u8>),
    (backend, from_backend): (&mut TcpStream, Vec<u8>),
) {
    let (mut client_read, mut client_write) = client.split();
    let (mut backend_read, mut backend_write) = backend.split();
    let inward = pump(pool, &mut client_read, &mut backend_write, from_client);
    let outward = pump(pool, &mut backend_read, &mut client_write, from_backend);
    // An end that breaks ends both; one that ends in good order lets the other end finish.
    let _ = tokio::try_join!(inward, outward);
}

async fn pump(
    pool: &Rc<Pool>,
    from: &mut ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
    first: Vec<u8>,
) -> std::io::Result<()> {
    to.write_all(&first).await?;
    drop(first);
    loop {
        from.readable().await?;
        let mut buffer = pool.buffer();
        match from.try_read_buf(&mut buffer) {
            Ok(0) => {
                pool.give_back(buffer);
                return to.shutdown().await;
            }
            Ok(_) => to.write_all(&buffer).await?,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        pool.give_back(buffer);
    }
}
