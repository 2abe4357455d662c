//! Messages between relays and the API: texts whose first line says what the rest is.
//!
//! ```text
//! relay → API   request =ann g1⏎{"op":"predict",…}     API → relay   g1 good⏎{"re":"predict",…}
//!               request #5f.17 -⏎{"op":"join",…}                     g1 good⏎{"re":"join",…}
//!               close #5f.17                                     - good⏎
//!               watch g1                                         - good⏎, then what is published, as it is
//! ```
//! Requests and replies are passed on as they are. The state of a user between two requests, which is the
//! game that the user is in, comes and goes with each of them.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::bus::messages::payload;
use crate::bus::model::{GameId, User};
use server::websocket::frames;

/// The path on which relays open their WebSockets.
pub(crate) const PATH: &str = "/v1/relay";
/// Longest first line, in bytes: two words, two ids.
pub(crate) const HEAD_MAX: usize = 128;

/// A demand of a relay on the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Demand<'a> {
    /// A request of a user who is in this game.
    Request { user: User, joined: Option<GameId>, text: &'a str },
    /// A user without a name has left.
    Close { user: User },
    /// Everything that is published in a game from now on.
    Watch { game: GameId },
}

/// The first line, or all, of what a relay sends.
struct Word<'a>(&'a User);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            User::Named(name) => write!(f, "={name}"),
            User::Relayed(name) => write!(f, "#{name}"),
            // A relay has none of these.
            User::Connection(number) => write!(f, "#{number}"),
        }
    }
}

fn user(word: &str) -> Option<User> {
    let name = word.get(1..)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if !(1..=64).contains(&name.len()) || !name.bytes().all(plain) {
        return None;
    }
    match word.as_bytes()[0] {
        b'=' => Some(User::Named(name.into())),
        b'#' => Some(User::Relayed(Arc::from(name))),
        _ => None,
    }
}

fn game(word: &str) -> Option<Option<GameId>> {
    match word {
        "-" => Some(None),
        id => id.parse().ok().map(Some),
    }
}

fn shown(game: Option<GameId>) -> String {
    game.map_or_else(|| "-".to_owned(), |game| game.to_string())
}

impl<'a> Demand<'a> {
    /// Reads what a relay sent; `None` if it is nothing of these.
    pub(crate) fn read(message: &'a str) -> Option<Self> {
        let (head, text) = message.split_once('\n').unwrap_or((message, ""));
        let words: Vec<&str> = head.splitn(4, ' ').collect();
        match words[..] {
            ["request", name, id] => {
                Some(Self::Request { user: user(name)?, joined: game(id)?, text })
            }
            // The accounts of users with names are theirs, whatever a relay says.
            ["close", name] => match user(name)? {
                user @ User::Relayed(_) => Some(Self::Close { user }),
                _ => None,
            },
            ["watch", id] => Some(Self::Watch { game: game(id)?? }),
            _ => None,
        }
    }

    /// The demand as it is sent.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Request { user, joined, text } => {
                format!("request {} {}\n{text}", Word(user), shown(*joined))
            }
            Self::Close { user } => format!("close {}", Word(user)),
            Self::Watch { game } => format!("watch {game}"),
        }
    }
}

/// An answer of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiAnswer {
    /// The game that the user is in afterwards.
    pub(crate) joined: Option<GameId>,
    /// Whether the request was good.
    pub(crate) good: bool,
    /// The reply as the user gets it.
    pub(crate) text: String,
}

impl ApiAnswer {
    /// Reads an answer; `None` if it is something else, such as what is published.
    pub(crate) fn read(message: &str) -> Option<Self> {
        let (head, text) = message.split_once('\n')?;
        let (id, good) = head.split_once(' ')?;
        Some(Self {
            joined: game(id)?,
            good: match good {
                "good" => true,
                "bad" => false,
                _ => return None,
            },
            text: text.to_owned(),
        })
    }

    /// The frame of an answer whose reply is in `reply`, a frame too.
    pub(crate) fn frame(joined: Option<GameId>, good: bool, reply: &[u8]) -> Bytes {
        let good = if good { "good" } else { "bad" };
        let head = format!("{} {good}\n", shown(joined));
        frames::text(|bytes| {
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(payload(reply));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let named = User::Named("ann".into());
        let relayed = User::Relayed("5f.17".into());
        let all = [
            Demand::Request { user: named, joined: Some(GameId(2)), text: "{\"op\":\n\"games\"}" },
            Demand::Request { user: relayed.clone(), joined: None, text: "" },
            Demand::Close { user: relayed },
            Demand::Watch { game: GameId(1) },
        ];
        for demand in all {
            assert_eq!(Demand::read(&demand.text()), Some(demand));
        }
        for length in [3, 200, 70_000] {
            let text = "x".repeat(length);
            let reply = frames::text(|bytes| bytes.extend_from_slice(text.as_bytes()));
            let frame = ApiAnswer::frame(Some(GameId(3)), false, &reply);
            let answered = ApiAnswer { joined: Some(GameId(3)), good: false, text };
            let message = std::str::from_utf8(payload(&frame)).unwrap();
            assert_eq!(ApiAnswer::read(message), Some(answered));
        }
    }

    #[test]
    fn nothing_else_is_read() {
        let long = format!("close #{}", "x".repeat(65));
        for bad in [
            "",
            "request",
            "request =ann",
            "request ann g1\n{}",
            "request =a\u{e4} g1\n{}",
            "request = g1\n{}",
            "request =ann g0\n{}",
            "request =ann g1 g2\n{}",
            "watch -",
            "close",
            "close =ann",
            &long,
        ] {
            assert_eq!(Demand::read(bad), None, "{bad:?}");
        }
        for bad in ["{\"type\":\"goal\"}", "g1 good", "g1 fair\n", "x good\n"] {
            assert_eq!(ApiAnswer::read(bad), None, "{bad:?}");
        }
    }
}
