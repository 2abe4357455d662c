//! Requests of the balancer's own to backends: checks whether they are up, and queries for their load.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::connection::Local;
use super::pool::is_local;
use super::shared::Query;
use crate::http::{Framing, read_response};
use crate::policy::Probe;
use crate::weights::WorkReport;

/// Longest body of an answer that is read, in bytes.
const BODY_MAX: u64 = 64 << 10;
/// How long a backend may take to answer how loaded it is: later, the answer would mislead.
const PROBE_WITHIN: Duration = Duration::from_millis(500);
/// Path on which backends answer that.
const LOAD_PATH: &str = "/load";

/// A request on a connection; the status and body of its answer, and whether the connection can serve another.
async fn get(
    stream: &mut TcpStream,
    name: &str,
    path: &str,
    with_body: bool,
) -> io::Result<(u16, Vec<u8>, bool)> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {name}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let invalid = |what: &'static str| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut inbox = Vec::with_capacity(1 << 10);
    let head = loop {
        if stream.read_buf(&mut inbox).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let head = read_response(&inbox, false).map_err(|bad| invalid(bad.0))?;
        if let Some(head) = head {
            break head;
        }
    };
    inbox.drain(..head.length);
    let length = match head.framing {
        Framing::Length(length) if length <= BODY_MAX => length as usize,
        Framing::None => 0,
        _ if !with_body => return Ok((head.status, Vec::new(), false)),
        _ => return Err(invalid("the body has no length, or is too long")),
    };
    while inbox.len() < length {
        if stream.read_buf(&mut inbox).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let keep = head.keep_alive && inbox.len() == length;
    Ok((head.status, inbox, keep))
}

/// Whether a backend answers the path with a status below 400 in time; `None` if the balancer has no file, port or memory
/// to find out.
pub(super) async fn is_healthy(
    address: SocketAddr,
    name: &str,
    path: &str,
    within: Duration,
) -> Option<bool> {
    match get_once(address, name, path, false, within).await {
        Ok((status, _)) => Some((200..=399).contains(&status)),
        Err(error) if is_local(&error) => None,
        Err(_) => Some(false),
    }
}

/// A request on a connection of its own: the status and body of its answer.
///
/// # Errors
/// If that does not come in time.
async fn get_once(
    address: SocketAddr,
    name: &str,
    path: &str,
    with_body: bool,
    within: Duration,
) -> io::Result<(u16, Vec<u8>)> {
    let query = async {
        let mut stream = TcpStream::connect(address).await?;
        get(&mut stream, name, path, with_body).await
    };
    let (status, body, _) = timeout(within, query).await??;
    Ok((status, body))
}

/// Queries a backend for its load. One that does not answer is not known.
pub(super) async fn probe(local: Rc<Local>, to: Query) {
    let backend = &to.list.backends[to.at];
    let query = async {
        let upstream = match local.pool.take(backend.address) {
            Some(upstream) => upstream,
            None => local.pool.connect(backend.address, PROBE_WITHIN).await?,
        };
        let mut stream = upstream.stream;
        let name = &backend.member.name;
        let (status, body, keep) = get(&mut stream, name, LOAD_PATH, true).await?;
        if keep {
            local.pool.put(backend.address, stream);
        }
        io::Result::Ok((status, body))
    };
    let Ok(Ok((200, body))) = timeout(PROBE_WITHIN, query).await else {
        return;
    };
    if let Some(answer) = read_load(&body) {
        local.router.metrics.probes.add(1);
        let router = &local.router;
        router.shared.probed(&to, answer, router.now_ns());
    }
}

/// A backend's report of its work, if it comes in time.
pub(super) async fn work_report(address: SocketAddr, name: &str) -> Option<WorkReport> {
    match get_once(address, name, LOAD_PATH, true, PROBE_WITHIN).await {
        Ok((200, body)) => read_work(&body),
        _ => None,
    }
}

/// `{"done": 100, "failed": 0, "work_s": 2.0, "concurrency": 4}`, all counted since the backend's start.
fn read_work(body: &[u8]) -> Option<WorkReport> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let count = |name| value.get(name).and_then(Value::as_u64);
    let work_s = value.get("work_s")?.as_f64();
    let concurrency = count("concurrency").and_then(|count| u32::try_from(count).ok());
    Some(WorkReport {
        done: count("done")?,
        failed: count("failed")?,
        work_s: work_s.filter(|work_s| *work_s >= 0.0)?,
        concurrency: concurrency.filter(|count| *count >= 1)?,
    })
}

/// `{"in_flight": 3, "latency_ms": 20.5}`; a latency that is not known yet is 0.
fn read_load(body: &[u8]) -> Option<Probe> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let in_flight = u32::try_from(value.get("in_flight")?.as_u64()?).ok()?;
    let latency_ms = value.get("latency_ms").and_then(Value::as_f64);
    Some(Probe { in_flight, latency_s: latency_ms.unwrap_or(0.0) / 1e3 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_work_are_complete_or_nothing() {
        let body = r#"{"done":5,"failed":1,"work_s":0.5,"concurrency":4,"in_flight":0}"#;
        let report = WorkReport { done: 5, failed: 1, work_s: 0.5, concurrency: 4 };
        assert_eq!(read_work(body.as_bytes()), Some(report));
        for (field, wrong) in [
            (r#""done":5"#, r#""done":-5"#),
            (r#""failed":1,"#, ""),
            ("0.5", "-0.5"),
            ("0.5", "null"),
            (":4", ":0"),
            (":4", ":5000000000"),
        ] {
            assert_eq!(read_work(body.replace(field, wrong).as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn loads_are_read_leniently() {
        let probe = |in_flight, latency_s| Some(Probe { in_flight, latency_s });
        assert_eq!(read_load(br#"{"in_flight":3,"latency_ms":20,"x":1}"#), probe(3, 0.02));
        assert_eq!(read_load(br#"{"in_flight":3,"latency_ms":null}"#), probe(3, 0.0));
        assert_eq!(read_load(b"{}"), None);
        assert_eq!(read_load(br#"{"in_flight":-3}"#), None);
        assert_eq!(read_load(b"ready"), None);
    }
}
