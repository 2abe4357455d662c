//! The first words between the controller and the worker of an agent.

use std::sync::Arc;
use std::time::Duration;

use super::carrier::{Bytes, Carrier};
use super::clock::EXCHANGES;
use super::connection::{Connection, NotReady};
use super::frame::{FrameReader, send};
use super::listener::incompatible;
use super::protocol::{Answer, Hello, Introduction, MAGIC, ToController};

/// The time in which a worker of an agent has to start and to introduce itself.
const HELLO_TIME_MAX: Duration = Duration::from_secs(30);

/// Awaits the hello of worker `index`, which must have our version and this token, and answers it.
pub(super) fn accept(
    index: usize,
    carrier: Arc<dyn Carrier>,
    token: &str,
    throng: &str,
) -> Result<Connection, NotReady> {
    let late = |error: super::frame::FrameError| match error.is_timeout() {
        true => NotReady::Unable(format!(
            "its worker did not introduce itself within {} s",
            HELLO_TIME_MAX.as_secs()
        )),
        false => NotReady::Frame(error),
    };
    carrier.set_timeout(HELLO_TIME_MAX).map_err(|e| NotReady::Frame(e.into()))?;
    let mut stream = Bytes(Arc::clone(&carrier));
    let mut reader = FrameReader::new(stream.clone());
    let (hello, rest) = reader.next_front::<Hello>().map_err(late)?;
    let refused = if hello.magic != MAGIC || hello.token != token {
        Some("no worker with this token is expected".to_owned())
    } else {
        incompatible(&hello, throng)
    };
    if let Some(why) = refused {
        let refused = Some(why.clone());
        send(&mut stream, &Answer { refused })?;
        return Err(NotReady::Unable(why));
    }
    let introduction: Introduction =
        postcard::from_bytes(&rest).map_err(|e| NotReady::Frame(e.into()))?;
    send(&mut stream, &Answer { refused: None })?;
    reader.trust();
    Ok(Connection::new(index, introduction, hello.throng, carrier, reader)?)
}

/// Reads again how worker `index` introduced itself to another controller and got ready, up to where its loops began.
pub(super) fn resume(
    index: usize,
    carrier: Arc<dyn Carrier>,
    throng: &str,
) -> Result<Connection, NotReady> {
    carrier.set_timeout(HELLO_TIME_MAX).map_err(|e| NotReady::Frame(e.into()))?;
    let mut reader = FrameReader::new(Bytes(Arc::clone(&carrier)));
    let (hello, rest) = reader.next_front::<Hello>()?;
    if let Some(why) = incompatible(&hello, throng) {
        return Err(NotReady::Unable(why));
    }
    let introduction: Introduction =
        postcard::from_bytes(&rest).map_err(|e| NotReady::Frame(e.into()))?;
    reader.trust();
    match reader.next()? {
        ToController::Ready => {}
        _ => return Err(NotReady::Unexpected),
    }
    for _ in 0..EXCHANGES {
        match reader.next()? {
            ToController::Pong { .. } => {}
            _ => return Err(NotReady::Unexpected),
        }
    }
    Ok(Connection::new(index, introduction, hello.throng, carrier, reader)?)
}
