//! Servers of HTTP: requests, event streams, polls.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use super::conns::{Conn, close, leave, listen};
use super::ledger::{Ledger, Load, Sent};

/// Messages in one answer to a poll.
const LIST_MAX: usize = 5;
/// Places before the last event from which a stream resumes.
const AGAIN: usize = 3;

/// Answers requests. Overloaded, it never answers those to `/late`, closes every other connection at its
/// second request, and refuses the third of the others.
pub(super) fn http(ledger: &Ledger, secure: bool) -> SocketAddr {
    let ledger = ledger.clone();
    listen(secure, move |stream| {
        let closes = ledger.connected().is_multiple_of(2);
        for place in 0.. {
            let is_late = user_of(&read(stream)?) == "late";
            if is_late && ledger.load == Load::Over {
                ledger.note(|counts| counts.late += 1);
                return leave(stream);
            }
            if closes && ledger.fails(place, 2) {
                ledger.note(|counts| counts.closed += 1);
                return close(stream);
            }
            let refuses = ledger.fails(place, 3);
            ledger.note(|counts| match refuses {
                true => counts.refused += 1,
                false => counts.answered += 1,
            });
            let status = if refuses { "503 Busy" } else { "200 OK" };
            answer(stream, status, "ok")?;
        }
        Ok(())
    })
}

/// Sends events. Overloaded, it ends each stream once in the midst of them, and repeats the last ones when
/// the client is back.
pub(super) fn event_streams(ledger: &Ledger, secure: bool) -> SocketAddr {
    let users: Arc<Mutex<BTreeMap<String, Sent>>> = Arc::default();
    let ledger = ledger.clone();
    listen(secure, move |stream| {
        ledger.connected();
        let head = read(stream)?;
        ledger.note(|counts| counts.answered += 1);
        let last = head.lines().find_map(|line| line.strip_prefix("last-event-id: "));
        let last: Option<usize> = last.map(|last| last.parse().unwrap());
        let (text, ends) = {
            let mut users = users.lock().unwrap();
            let sent = users.entry(user_of(&head)).or_default();
            events(&ledger, sent, last)
        };
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        stream.write_all((head.to_owned() + &text).as_bytes())?;
        stream.flush()?;
        match ends {
            true => close(stream),
            false => leave(stream),
        }
    })
}

/// The events of a stream of a user, who has seen those up to `last`; and whether the stream ends behind them.
pub(super) fn events(ledger: &Ledger, sent: &mut Sent, last: Option<usize>) -> (String, bool) {
    let numbers = ledger.numbers();
    let begin = last.map_or(0, |last| (last + 1).saturating_sub(AGAIN));
    let ends = last.is_none() && ledger.fails(0, 1);
    let end = if ends { numbers.len() / 2 } else { numbers.len() };
    let mut text = String::new();
    for (place, number) in numbers.iter().enumerate().take(end).skip(begin) {
        sent.add(*number, ledger);
        let event = format!("id: {place}\ndata: {{\"by\":\"sse\",\"seq\":{number}}}\n\n");
        text += &event;
    }
    if !ends {
        sent.end(ledger);
        text += "data: {\"done\":true}\n\n";
    }
    (text, ends)
}

/// Where a user's polls are.
#[derive(Default)]
pub(super) struct Polled {
    pub(super) requests: u64,
    place: usize,
    sent: Sent,
}

/// Answers polls with messages. Overloaded, it closes at every third and refuses every fourth.
pub(super) fn polls(ledger: &Ledger, secure: bool) -> SocketAddr {
    let users: Arc<Mutex<BTreeMap<String, Polled>>> = Arc::default();
    let ledger = ledger.clone();
    listen(secure, move |stream| {
        ledger.connected();
        loop {
            let head = read(stream)?;
            let (status, list) = {
                let mut users = users.lock().unwrap();
                let user = users.entry(user_of(&head)).or_default();
                user.requests += 1;
                if ledger.fails(user.requests - 1, 3) {
                    ledger.note(|counts| counts.closed += 1);
                    drop(users);
                    return close(stream);
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
            answer(stream, status, &list)?;
        }
    })
}

/// The next answer to a poll.
pub(super) fn next_list(user: &mut Polled, ledger: &Ledger) -> String {
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

fn answer(stream: &mut dyn Conn, status: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(answer.as_bytes())?;
    stream.flush()
}

/// The user that the path names.
fn user_of(head: &str) -> String {
    let path = head.split(' ').nth(1).unwrap();
    path.trim_start_matches('/').to_owned()
}

/// The head of a request.
pub(super) fn read(stream: &mut dyn Conn) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8(head).unwrap())
}
