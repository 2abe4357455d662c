//! A relay that adds distance: what comes from either side goes on after a delay, however much is on its way.
//!
//! `distance LISTEN TARGET DELAY_MS`, the delay of one way; it ends with its standard input.

use std::io::{Read, Write};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// Chunks that may be under way on each way; further ones wait in the sender's socket.
const UNDER_WAY: usize = 4096;
const CHUNK: usize = 16 * 1024;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [listen, target, delay] = &args[..] else {
        return Err("usage: distance LISTEN TARGET DELAY_MS".into());
    };
    let delay = Duration::from_secs_f64(delay.parse::<f64>()? / 1e3);
    std::thread::spawn(|| {
        // Whoever started it closes this, or is gone.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(relay(listen, target.clone(), delay))
}

async fn relay(listen: &str, target: String, delay: Duration) -> Result<(), Failure> {
    let listener = TcpListener::bind(listen).await?;
    writeln!(std::io::stdout(), "listening on {}", listener.local_addr()?)?;
    loop {
        let (client, _) = listener.accept().await?;
        let target = target.clone();
        tokio::spawn(async move {
            // The client sees that its connection ends.
            let Ok(server) = TcpStream::connect(target).await else {
                return;
            };
            let nodelay = client.set_nodelay(true).and(server.set_nodelay(true));
            if nodelay.is_err() {
                return;
            }
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::spawn(one_way(from_client, to_server, delay));
            one_way(from_server, to_client, delay).await;
        });
    }
}

/// Passes chunks on, each after the delay.
async fn one_way(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) {
    let (sender, mut under_way) = mpsc::channel::<(Instant, Vec<u8>)>(UNDER_WAY);
    tokio::spawn(async move {
        while let Some((due, chunk)) = under_way.recv().await {
            sleep_until(due).await;
            if to.write_all(&chunk).await.is_err() {
                return;
            }
        }
        // The other side reads the end.
        let _ = to.shutdown().await;
    });
    let mut buffer = vec![0; CHUNK];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let chunk = buffer[..count].to_vec();
        if sender.send((Instant::now() + delay, chunk)).await.is_err() {
            return;
        }
    }
}
