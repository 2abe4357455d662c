//! What a hostile server does, as data, and what is right to say of it.

use std::time::Duration;

/// One thing that the server does on a connection.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Sends these bytes. `{accept}` in them answers the client's key (RFC 6455 §4.2.2).
    Send(Vec<u8>),
    /// Sends these bytes again and again until the client is gone.
    Flood(Vec<u8>),
    /// As `Flood`, and reads nothing meanwhile.
    DeafFlood(Vec<u8>),
    /// Sends these bytes one by one.
    Drip(Vec<u8>),
    /// Does nothing for this long.
    Pause(Duration),
    /// Waits for the head of a further request.
    Request,
    /// Waits for a frame of the client.
    Frame,
    /// Lets the requests to [`Server::barrier`](super::server::Server) have their answers.
    OpenBarrier,
    /// Ends its side.
    Fin,
    /// Resets the connection.
    Reset,
}

/// A case: what the client does, what the server does, and the outcome that is right.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// What the server does: the name of the case's session, and its path.
    pub(super) name: &'static str,
    /// The session's steps, YAML. `AT` stands for the case's place at the server.
    pub(super) steps: String,
    /// What the server does on the first connection, the second and so on; the last script is for all
    /// that follow.
    pub(super) scripts: Vec<Vec<Act>>,
    /// The rows of the session but for `connect`, by outcome and status: `ok 200, closed`; several ways
    /// apart by `|`. After `;` what the server has to have seen: `2 connections`, `close 1002`.
    pub(super) right: &'static str,
    /// The server acts as soon as it has accepted, before it could know from the request which case this
    /// is: the case has a port of its own.
    pub(super) acts_at_once: bool,
}

impl Case {
    /// A case whose server acts once it has read a request's head.
    pub(super) fn new(
        name: &'static str,
        steps: &str,
        acts: impl Into<Vec<Act>>,
        right: &'static str,
    ) -> Case {
        Case {
            name,
            steps: steps.to_owned(),
            scripts: vec![acts.into()],
            right,
            acts_at_once: false,
        }
    }

    /// On the next connection the server acts otherwise.
    pub(super) fn then(mut self, acts: impl Into<Vec<Act>>) -> Case {
        self.scripts.push(acts.into());
        self
    }

    /// The server acts without having read anything.
    pub(super) fn at_once(mut self) -> Case {
        self.acts_at_once = true;
        self
    }

    /// True if the server cannot know how much the client sent it.
    pub(super) fn resets(&self) -> bool {
        let mut acts = self.scripts.iter().flatten();
        acts.any(|act| matches!(act, Act::Reset))
    }
}

/// Sends text or bytes.
pub(super) fn send(bytes: impl AsRef<[u8]>) -> Act {
    Act::Send(bytes.as_ref().to_vec())
}

/// Sends the same bytes without an end.
pub(super) fn flood(bytes: impl AsRef<[u8]>) -> Act {
    // Few and large writes: the server should not be what limits the flood.
    Act::Flood(bytes.as_ref().repeat(1 + (16 << 10) / bytes.as_ref().len()))
}

/// Sends the bytes one by one.
pub(super) fn drip(bytes: impl AsRef<[u8]>) -> Act {
    Act::Drip(bytes.as_ref().to_vec())
}

/// Does nothing for some milliseconds, so that what follows comes in a segment of its own.
pub(super) fn pause() -> Act {
    Act::Pause(Duration::from_millis(20))
}
