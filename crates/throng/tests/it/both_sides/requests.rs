//! Servers of HTTP: requests, event streams, polls.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use super::ledger::{Ledger, Load, Sent};
use crate::support::server;

/// Messages in one answer to a poll.
const LIST_MAX: usize = 5;
/// Places before the last event from which a stream resumes.
const AGAIN: usize = 3;

/// Answers requests. Overloaded, it never answers those to `/late`, closes every other connection at its
/// second request, and refuses the third of the others.
pub(super) fn http(ledger: &Ledger) -> SocketAddr {
    let ledger = ledger.clone();
    server(move |mut stream| {
        let closes = ledger.connected().is_multiple_of(2);
        for place in 0.. {
            let is_late = user_of(&read(&mut stream)?) == "late";
            if is_late && ledger.load == Load::Over {
                ledger.note(|counts| counts.late += 1);
                return leave(&mut stream);
            }
            if closes && ledger.fails(place, 2) {
                ledger.note(|counts| counts.closed += 1);
                return close(&mut stream);
            }
            let refuses = ledger.fails(place, 3);
            ledger.note(|counts| match refuses {
                true => counts.refused += 1,
                false => counts.answered += 1,
            });
            let status = if refuses { "503 Busy" } else { "200 OK" };
            answer(&mut stream, status, "ok")?;
        }
        Ok(())
    })
}

/// Sends events. Overloaded, it ends each stream once in the midst of them, and repeats the last ones when
/// the client is back.
pub(super) fn event_streams(ledger: &Ledger) -> SocketAddr {
    let users: Arc<Mutex<BTreeMap<String, Sent>>> = Arc::default();
    let ledger = ledger.clone();
    server(move |mut stream| {
        ledger.connected();
        let head = read(&mut stream)?;
        ledger.note(|counts| counts.answered += 1);
        let last = head
            .lines()
            .find_map(|line| line.strip_prefix("last-event-id: "));
        let last: Option<usize> = last.map(|last| last.parse().unwrap());
        let numbers = ledger.numbers();
        let begin = last.map_or(0, |last| (last + 1).saturating_sub(AGAIN));
        let ends = last.is_none() && ledger.fails(0, 1);
        let end = if ends {
            numbers.len() / 2
        } else {
            numbers.len()
        };
        let mut text = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_owned();
        {
            let mut users = users.lock().unwrap();
            let sent = users.entry(user_of(&head)).or_default();
            for (place, number) in numbers.iter().enumerate().take(end).skip(begin) {
                sent.add(*number, &ledger);
                write!(
                    text,
                    "id: {place}\ndata: {{\"by\":\"sse\",\"seq\":{number}}}\n\n"
                )
                .unwrap();
            }
            if !ends {
                sent.end(&ledger);
                text += "data: {\"done\":true}\n\n";
            }
        }
        stream.write_all(text.as_bytes())?;
        match ends {
            true => close(&mut stream),
            false => leave(&mut stream),
        }
    })
}

/// Where a user's polls are.
#[derive(Default)]
struct Polled {
    requests: u64,
    place: usize,
    sent: Sent,
}

/// Answers polls with messages. Overloaded, it closes at every third and refuses every fourth.
pub(super) fn polls(ledger: &Ledger) -> SocketAddr {
    let users: Arc<Mutex<BTreeMap<String, Polled>>> = Arc::default();
    let ledger = ledger.clone();
    server(move |mut stream| {
        ledger.connected();
        loop {
            let head = read(&mut stream)?;
            let (status, list) = {
                let mut users = users.lock().unwrap();
                let user = users.entry(user_of(&head)).or_default();
                user.requests += 1;
                if ledger.fails(user.requests - 1, 3) {
                    ledger.note(|counts| counts.closed += 1);
                    drop(users);
                    return close(&mut stream);
                }
                match ledger.fails(user.requests - 1, 4) {
                    true => {
                        ledger.note(|counts| counts.refused += 1);
                        ("503 Busy", String::new())
                    }
                    false => {
                        ledger.note(|counts| counts.answered += 1);
                        ("200 OK", next_list(user, &ledger))
                    }
                }
            };
            answer(&mut stream, status, &list)?;
        }
    })
}

fn next_list(user: &mut Polled, ledger: &Ledger) -> String {
    let numbers = ledger.numbers();
    let mut list = Vec::new();
    for number in numbers.iter().skip(user.place).take(LIST_MAX) {
        user.sent.add(*number, ledger);
        list.push(format!("{{\"by\":\"poll\",\"seq\":{number}}}"));
    }
    user.place += list.len();
    if user.place == numbers.len() {
        user.sent.end(ledger);
        list.push("{\"done\":true}".to_owned());
    }
    format!("{{\"list\":[{}]}}", list.join(","))
}

fn answer(stream: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(answer.as_bytes())
}

/// The user that the path names.
fn user_of(head: &str) -> String {
    let path = head.split(' ').nth(1).unwrap();
    path.trim_start_matches('/').to_owned()
}

/// The head of a request.
fn read(stream: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8(head).unwrap())
}

/// Sends nothing more, and waits until the client has left.
pub(super) fn leave(stream: &mut TcpStream) -> io::Result<()> {
    io::copy(stream, &mut io::sink()).map(drop)
}

/// Ends this side. A connection with unread bytes would be reset.
pub(super) fn close(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    leave(stream)
}
