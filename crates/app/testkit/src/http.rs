//! Requests on plain sockets, for tests of servers.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long anything may take before a test gives up. Never waited for when all is well.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Gives up on a future that does not come.
pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(TIMEOUT, what).await.expect("should have happened long ago")
}

/// One GET on a connection of its own: status and body.
pub async fn get(address: SocketAddr, target: &str) -> (u16, String) {
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let response = raw(address, request.as_bytes()).await;
    let status = response.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    (status, body.to_owned())
}

/// Sends bytes on a connection of their own and returns all that comes back.
pub async fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut response = Vec::new();
    soon(stream.read_to_end(&mut response)).await.unwrap();
    String::from_utf8(response).unwrap()
}
