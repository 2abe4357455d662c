//! The server's end of one TLS connection, between bytes and bytes.
//!
//! Buffers are the caller's: one that is idle between two records keeps its keys and no buffer. The beginning of a record
//! is kept, at most [`PARTIAL_MAX`] of it.

use std::mem;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError,
    UnbufferedStatus,
};

/// Most bytes of a record, or of a ClientHello in several, that wait for their end. A record has at most 16 KiB of
/// content and 261 bytes around it (RFC 8446, section 5.2).
const PARTIAL_MAX: usize = 32 << 10;
/// Room for a record that is an alert.
const ALERT_ROOM: usize = 128;
/// Most bytes that a record adds to its content: header, content type and tag, with TLS 1.2 a nonce.
const RECORD_EXTRA: usize = 64;
/// Content of a record, at most.
const RECORD_BYTES: usize = 16 << 10;

/// One end of a connection.
pub(crate) struct Session {
    tls: UnbufferedServerConnection,
    /// The beginning of a record.
    partial: Vec<u8>,
    /// Something came already.
    has_begun: bool,
    /// We have said that nothing more follows.
    is_closed: bool,
    /// Nothing can be made of it any more.
    has_failed: bool,
}

/// State of the peer's sending side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerState {
    /// The peer may send more.
    More,
    /// The peer has said that it sends no more.
    End,
}

/// Why a connection cannot continue.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum Failure {
    /// The peer speaks HTTP without TLS.
    #[error("plain HTTP")]
    Plain,
    /// More of a record, or of a handshake message, than there may be.
    #[error("too much of a record or a message is incomplete")]
    TooLong,
    /// It broke the rules of TLS, or there is nothing in common.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

impl Session {
    /// The state of a new connection.
    ///
    /// # Errors
    /// If the settings are unusable.
    pub(crate) fn new(config: &Arc<ServerConfig>) -> Result<Box<Self>, rustls::Error> {
        Ok(Box::new(Self {
            tls: UnbufferedServerConnection::new(Arc::clone(config))?,
            partial: Vec::new(),
            has_begun: false,
            is_closed: false,
            has_failed: false,
        }))
    }

    /// Takes what came. Appends the content of it to `plain`, and to `sealed` what is to be sent because of it, also if
    /// this fails.
    pub(crate) fn receive(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        sealed: &mut Vec<u8>,
    ) -> Result<PeerState, Failure> {
        // A handshake begins with 22. Whoever begins with a method speaks HTTP.
        if !mem::replace(&mut self.has_begun, true)
            && bytes.first().is_some_and(u8::is_ascii_uppercase)
        {
            return Err(Failure::Plain);
        }
        if self.partial.is_empty() {
            let (used, result) = self.take(bytes, plain, sealed);
            self.partial = bytes[used..].to_vec();
            return self.unless_failed(result);
        }
        let mut kept = mem::take(&mut self.partial);
        kept.extend_from_slice(bytes);
        let (used, result) = self.take(&mut kept, plain, sealed);
        if used < kept.len() {
            kept.drain(..used);
            self.partial = kept;
        }
        self.unless_failed(result)
    }

    fn unless_failed(
        &mut self,
        received: Result<PeerState, Failure>,
    ) -> Result<PeerState, Failure> {
        let received = match received {
            Ok(_) if self.partial.len() > PARTIAL_MAX => Err(Failure::TooLong),
            received => received,
        };
        self.has_failed = received.is_err();
        received
    }

    /// How many of the bytes are done with, and what became of the connection.
    fn take(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        sealed: &mut Vec<u8>,
    ) -> (usize, Result<PeerState, Failure>) {
        let mut used = 0;
        loop {
            let UnbufferedStatus { discard, state } =
                self.tls.process_tls_records(&mut bytes[used..]);
            used += discard;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(Ok(record)) = traffic.next_record() {
                        used += record.discard;
                        plain.extend_from_slice(record.payload);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, sealed),
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    return (used, Ok(PeerState::End));
                }
                // Whatever needs more bytes; early data is not offered.
                Ok(_) => return (used, Ok(PeerState::More)),
                Err(error) => {
                    // There may be an alert.
                    let rest = &mut bytes[used..];
                    if let Ok(ConnectionState::EncodeTlsData(data)) =
                        self.tls.process_tls_records(rest).state
                    {
                        encode(data, sealed);
                    }
                    return (used, Err(error.into()));
                }
            }
        }
    }

    /// Bytes that are kept between two records.
    #[cfg(test)]
    pub(super) fn kept_bytes(&self) -> usize {
        self.partial.capacity()
    }

    /// Appends `plain` as records to `sealed`, which must then be sent before anything that is sealed later.
    ///
    /// # Errors
    /// During the handshake, after the end, and if there are no more keys.
    pub(crate) fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) -> Result<(), Failure> {
        if self.has_failed {
            return Err(rustls::Error::EncryptError.into());
        }
        let records = plain.len() / RECORD_BYTES + 1;
        let mut room = plain.len() + records * RECORD_EXTRA;
        loop {
            // The library remembers places in what is incomplete, so it must see that.
            let status = self.tls.process_tls_records(&mut self.partial);
            debug_assert_eq!(status.discard, 0, "all that is complete was processed");
            match status.state? {
                ConnectionState::EncodeTlsData(data) => encode(data, sealed),
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::WriteTraffic(mut traffic) => {
                    let wanted = append(sealed, room, |space| traffic.encrypt(plain, space))?;
                    match wanted {
                        Some(wanted) => room = wanted,
                        None => return Ok(()),
                    }
                }
                // Its state is shown once.
                ConnectionState::PeerClosed => {}
                _ => return Err(rustls::Error::HandshakeNotComplete.into()),
            }
        }
    }

    /// Appends the word that nothing more follows, once.
    pub(crate) fn close(&mut self, sealed: &mut Vec<u8>) {
        if mem::replace(&mut self.is_closed, true) || self.has_failed {
            return;
        }
        let mut room = ALERT_ROOM;
        loop {
            match self.tls.process_tls_records(&mut self.partial).state {
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, sealed),
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => {}
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    match append(sealed, room, |space| traffic.queue_close_notify(space)) {
                        Ok(Some(wanted)) => room = wanted,
                        _ => return,
                    }
                }
                // Before the handshake is complete there is no peer to tell.
                _ => return,
            }
        }
    }
}

fn encode(mut data: EncodeTlsData<'_, ServerConnectionData>, sealed: &mut Vec<u8>) {
    let start = sealed.len();
    let mut room = ALERT_ROOM;
    loop {
        sealed.resize(start + room, 0);
        match data.encode(&mut sealed[start..]) {
            Ok(written) => return sealed.truncate(start + written),
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
                room = required_size;
            }
            Err(EncodeError::AlreadyEncoded) => return sealed.truncate(start),
        }
    }
}

/// Appends what `write` writes into the room behind it; how much room it wants, if that was not enough.
fn append(
    sealed: &mut Vec<u8>,
    room: usize,
    write: impl FnOnce(&mut [u8]) -> Result<usize, EncryptError>,
) -> Result<Option<usize>, Failure> {
    let start = sealed.len();
    sealed.resize(start + room, 0);
    let written = write(&mut sealed[start..]);
    sealed.truncate(start + written.as_ref().map_or(0, |&written| written));
    match written {
        Ok(_) => Ok(None),
        Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size })) => {
            Ok(Some(required_size))
        }
        Err(EncryptError::EncryptExhausted) => Err(rustls::Error::EncryptError.into()),
    }
}
