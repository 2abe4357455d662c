//! Events of a match that was recorded, from a file of JSON lines.

use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;

use crate::bus::model::{Event, GameId, Outcome};

/// Largest file in bytes.
pub const REPLAY_FILE_MAX: usize = 64 << 20;
/// Latest time of an event: a year.
const AT_MAX_S: f64 = 366.0 * 86_400.0;

/// Recorded events with the time of each since the beginning of the record, in the order of these times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    events: Vec<(Duration, Event)>,
}

/// Why a file cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ReplayError {
    /// Counted from 1.
    pub line: usize,
    /// The problem.
    pub problem: String,
}

/// A line of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    /// Seconds since the beginning.
    at: f64,
    #[serde(borrow)]
    game: std::borrow::Cow<'a, str>,
    outcome: Outcome,
}

impl Replay {
    /// Reads lines such as `{"at":61.5,"game":"g1","outcome":"home"}`: seconds since the beginning, the game, and
    /// `home` or `away` for a goal, `none` for the end of the match. Empty lines are skipped.
    ///
    /// # Errors
    /// On the first line that is not of this form, is earlier than the one before, or names a game beyond `games`.
    pub fn read(text: &str, games: u32) -> Result<Replay, ReplayError> {
        let mut events: Vec<(Duration, Event)> = Vec::new();
        let mut numbers: HashMap<GameId, u64> = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let wrong = |problem: String| ReplayError { line: number, problem };
            let read: Line = serde_json::from_str(line).map_err(|error| {
                wrong(format!(
                    "{error}; expected {{\"at\":SECONDS,\"game\":\"g1\",\"outcome\":\"home\"}}"
                ))
            })?;
            if !(0.0..=AT_MAX_S).contains(&read.at) {
                return Err(wrong(format!(
                    "`at` is {}; expected 0 to {AT_MAX_S} seconds",
                    read.at
                )));
            }
            let at = Duration::from_secs_f64(read.at);
            if events.last().is_some_and(|&(before, _)| at < before) {
                return Err(wrong("`at` is earlier than in the line before".to_owned()));
            }
            let game: Option<GameId> = read.game.parse().ok();
            let Some(game) = game.filter(|game| game.0 <= games) else {
                return Err(wrong(format!("no game {:?}; there are g1 to g{games}", read.game)));
            };
            let count = numbers.entry(game).or_default();
            *count += 1;
            let event = Event { game, number: *count, outcome: read.outcome };
            events.push((at, event));
        }
        Ok(Replay { events })
    }

    /// The events that are left when the games' last recorded events are those that `last` says, with the
    /// time of each since the last one that was recorded.
    pub(crate) fn rest(self, last: impl Fn(GameId) -> u64) -> Vec<(Duration, Event)> {
        let is_left = |event: &Event| event.number > last(event.game);
        let recorded = self.events.iter().filter(|(_, event)| !is_left(event));
        let begin = recorded.map(|&(at, _)| at).max().unwrap_or_default();
        let left = self.events.into_iter().filter(|(_, event)| is_left(event));
        left.map(|(at, event)| (at.saturating_sub(begin), event)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_numbered_by_game() {
        let text = concat!(
            "{\"at\":1.5,\"game\":\"g1\",\"outcome\":\"home\"}\n\n",
            "{\"at\":2,\"game\":\"g2\",\"outcome\":\"away\"}\n",
            "{\"at\":3,\"game\":\"g1\",\"outcome\":\"none\"}\n",
        );
        let replay = Replay::read(text, 2).unwrap();
        let shown = |events: &[(Duration, Event)]| -> Vec<_> {
            let each = events.iter();
            each.map(|(at, event)| (at.as_millis(), event.game.0, event.number)).collect()
        };
        assert_eq!(shown(&replay.events), [(1500, 1, 1), (2000, 2, 1), (3000, 1, 2)]);
        let rest = replay.clone().rest(|game| u64::from(game.0 == 1));
        assert_eq!(shown(&rest), [(500, 2, 1), (1500, 1, 2)]);
        assert_eq!(replay.rest(|_| 9), []);
    }

    #[test]
    fn bad_lines_are_named() {
        let line = |at: &str, game: &str, outcome: &str| {
            format!("{{\"at\":{at},\"game\":\"{game}\",\"outcome\":\"{outcome}\"}}\n")
        };
        let good = line("5", "g1", "home");
        for (bad, problem) in [
            (line("4", "g1", "home"), "earlier"),
            (line("-1", "g1", "home"), "`at` is -1"),
            (line("1e30", "g1", "home"), "`at` is 1000"),
            (line("6", "g3", "home"), "no game \"g3\"; there are g1 to g2"),
            (line("6", "g1", "draw"), "unknown variant `draw`"),
            ("{".to_owned(), "EOF"),
            ("7".to_owned(), "invalid type"),
        ] {
            let error = Replay::read(&format!("{good}{bad}"), 2).unwrap_err();
            assert_eq!(error.line, 2, "{bad}");
            assert!(error.problem.contains(problem), "{error}");
        }
    }
}
