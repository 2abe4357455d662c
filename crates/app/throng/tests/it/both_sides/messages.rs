//! Servers of messages: WebSocket, plain TCP, and the protocols of channels.

use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::time::Duration;

use tungstenite::{Message, WebSocket};

use super::Way;
use super::conns::{Conn, close, listen};
use super::deflated::Deflated;
use super::ledger::{Ledger, Load, Sent};
use super::talks::{Heard, Talk};
use crate::support::pass;

/// How long an overloaded server does not read.
const DEAF: Duration = Duration::from_millis(200);

/// Serves a transport.
pub(super) fn serve(name: &'static str, way: Way, ledger: &Ledger) -> SocketAddr {
    let ledger = ledger.clone();
    listen(way == Way::Secure, move |stream| {
        let place = ledger.connected();
        let mut wire = match (name, way) {
            ("tcp", _) => Wire::Lines(BufReader::new(stream)),
            (_, Way::Compressed) => Wire::Deflated(Deflated::accept(stream)?),
            _ => {
                let socket = tungstenite::accept(stream);
                let socket = socket.map_err(|error| io::Error::other(error.to_string()))?;
                Wire::Frames(Box::new(socket))
            }
        };
        converse(&Talk::new(name), &mut wire, place, &ledger)
    })
}

/// Answers what wants an answer. Overloaded, it leaves the third message of each connection without one,
/// closes one connection in five at its second message, and does not read for a while.
fn converse(talk: &Talk, wire: &mut Wire<'_>, place: u64, ledger: &Ledger) -> io::Result<()> {
    if let Some(greeting) = talk.greeting() {
        wire.write(greeting)?;
    }
    let mut said = 0;
    let mut padded = false;
    let mut sent = Sent::default();
    while let Some(text) = wire.read()? {
        match talk.hear(&text) {
            Heard::Say(number) => {
                said += 1;
                if ledger.fails(place, 5) && said == 2 {
                    ledger.note(|counts| counts.closed += 1);
                    return wire.close();
                }
                if ledger.fails(said - 1, 3) {
                    ledger.note(|counts| counts.late += 1);
                    continue;
                }
                ledger.note(|counts| counts.answered += 1);
                wire.write(&talk.answer("say", &number))?;
            }
            Heard::Pad => {
                if ledger.load == Load::Over && !std::mem::replace(&mut padded, true) {
                    pass(DEAF);
                }
                ledger.note(|counts| counts.pads += 1);
            }
            Heard::Go(number) => {
                for next in ledger.numbers() {
                    sent.add(next, ledger);
                    wire.write(&talk.push(next))?;
                }
                sent.end(ledger);
                ledger.note(|counts| counts.answered += 1);
                wire.write(&talk.answer("go", &number))?;
            }
            Heard::Other(Some(answer)) => wire.write(&answer)?,
            Heard::Other(None) => {}
        }
    }
    Ok(())
}

/// Texts over a connection.
enum Wire<'a> {
    Frames(Box<WebSocket<&'a mut dyn Conn>>),
    Deflated(Deflated<'a>),
    Lines(BufReader<&'a mut dyn Conn>),
}

impl Wire<'_> {
    /// The next text; `None`: the client has left.
    fn read(&mut self) -> io::Result<Option<String>> {
        match self {
            Wire::Frames(socket) => loop {
                match socket.read() {
                    Ok(Message::Text(text)) => return Ok(Some(text.to_string())),
                    Ok(_) => {}
                    Err(_) => return Ok(None),
                }
            },
            Wire::Deflated(socket) => socket.read(),
            Wire::Lines(lines) => {
                let mut line = String::new();
                let len = lines.read_line(&mut line)?;
                Ok((len > 0).then_some(line))
            }
        }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        match self {
            Wire::Frames(socket) => {
                let sent = socket.send(Message::text(text));
                sent.map_err(|error| io::Error::other(error.to_string()))
            }
            Wire::Deflated(socket) => socket.write(text),
            Wire::Lines(lines) => lines.get_mut().write_all(format!("{text}\n").as_bytes()),
        }
    }

    fn close(&mut self) -> io::Result<()> {
        match self {
            Wire::Frames(socket) => close(*socket.get_mut()),
            Wire::Deflated(socket) => close(socket.stream()),
            Wire::Lines(lines) => close(*lines.get_mut()),
        }
    }
}
