//! The market's words: games, pools, outcomes, users.

use std::fmt;
use std::iter::Sum;
use std::str::FromStr;
use std::sync::Arc;

use serde::ser::Error;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A game, counted from 1; written `g1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GameId(
    /// From 1.
    pub u32,
);

impl GameId {
    /// The game's channel, counted from 0.
    pub fn channel(self) -> u32 {
        self.0 - 1
    }

    /// The game's place in a list of all games; `None` for the number 0, which no game has.
    pub fn index(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }

    /// Games 1 to `count`.
    pub fn all(count: usize) -> impl Iterator<Item = GameId> {
        (1..=count).map(|number| GameId(number as u32))
    }
}

/// A pool, counted from 1; written `p1`.
///
/// With G games, pool n belongs to game `(n − 1) mod G + 1`, and the pool after it in the same
/// game is n + G: so any pool's game is known for ever, however long ago it was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(
    /// From 1.
    pub u64,
);

impl PoolId {
    /// The game that the pool belongs to, given the number of games; `None` for the number 0, which no pool has.
    pub fn game(self, games: u64) -> Option<GameId> {
        let place = self.0.checked_sub(1)?.checked_rem(games)?;
        Some(GameId(u32::try_from(place + 1).ok()?))
    }
}

/// Defines how an id is written, read and serialised: a letter and a number.
macro_rules! id_as_text {
    ($id:ident, $letter:literal) => {
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }

        impl FromStr for $id {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                let digits = text.strip_prefix($letter).ok_or(())?;
                // One spelling an id: no sign, no leading zero.
                if !digits.starts_with(|c: char| matches!(c, '1'..='9')) {
                    return Err(());
                }
                digits.parse().map(Self).map_err(|_| ())
            }
        }

        impl Serialize for $id {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

id_as_text!(GameId, "g");
id_as_text!(PoolId, "p");

/// The possible next events of a game, which are also the options of predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The home side scores.
    Home,
    /// The away side scores.
    Away,
    /// Nobody scores before the match ends.
    None,
}

impl Outcome {
    /// All outcomes, in the order of every list.
    pub const ALL: [Self; 3] = [Self::Home, Self::Away, Self::None];

    /// The outcome that `text` names.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "home" => Some(Self::Home),
            "away" => Some(Self::Away),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

/// Money on each outcome, in cents: a pool's distribution, or one user's stakes in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Shares {
    /// On the home side.
    pub home: u64,
    /// On the away side.
    pub away: u64,
    /// On neither side.
    pub none: u64,
}

impl Shares {
    /// The money on `outcome`.
    pub fn on(&self, outcome: Outcome) -> u64 {
        match outcome {
            Outcome::Home => self.home,
            Outcome::Away => self.away,
            Outcome::None => self.none,
        }
    }

    /// Puts `amount` more on `outcome`.
    pub fn add(&mut self, outcome: Outcome, amount: u64) {
        match outcome {
            Outcome::Home => self.home += amount,
            Outcome::Away => self.away += amount,
            Outcome::None => self.none += amount,
        }
    }

    /// The money on all outcomes together.
    pub fn total(&self) -> u64 {
        self.home + self.away + self.none
    }
}

impl Sum for Shares {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            home: sum.home + one.home,
            away: sum.away + one.away,
            none: sum.none + one.none,
        })
    }
}

/// Goals so far in the present match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// The home side's.
    pub home: u32,
    /// The away side's.
    pub away: u32,
}

impl Score {
    /// Counts a goal, or begins a new match.
    pub fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Home => self.home += 1,
            Outcome::Away => self.away += 1,
            Outcome::None => *self = Self::default(),
        }
    }
}

/// A game: two sides that play match after match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Game {
    /// Id of the game.
    pub id: GameId,
    /// The home side's name.
    pub home: &'static str,
    /// The away side's name.
    pub away: &'static str,
    /// Goals in the present match.
    pub score: Score,
}

/// A pool as anyone may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Id of the pool.
    pub id: PoolId,
    /// The game it belongs to.
    pub game: GameId,
    /// Distribution of the stakes over the outcomes.
    pub shares: Shares,
    /// How it was settled; `None` while it is open.
    pub outcome: Option<Outcome>,
}

/// A prediction that was accepted. As JSON it has [`PREDICTION_BYTES`] at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedPrediction {
    /// Later ones have larger numbers.
    pub id: u64,
    /// Name of the user with the account.
    pub user: String,
    /// The pool that holds the money.
    pub pool: PoolId,
    /// The predicted outcome.
    pub option: Outcome,
    /// Amount in cents.
    pub amount: u64,
}

/// Bytes of a listed prediction in the published system, whose fields were longer. Ours are padded with blanks.
pub const PREDICTION_BYTES: usize = 135;

impl Serialize for PlacedPrediction {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Plain<'a> {
            id: u64,
            user: &'a str,
            pool: PoolId,
            option: Outcome,
            amount: u64,
        }
        let Self { id, user, pool, option, amount } = self;
        let plain = Plain { id: *id, user, pool: *pool, option: *option, amount: *amount };
        let mut text = serde_json::to_string(&plain).map_err(S::Error::custom)?;
        let missing = PREDICTION_BYTES.saturating_sub(text.len());
        // Blanks before the brace mean nothing.
        text.insert_str(text.len() - 1, &" ".repeat(missing));
        RawValue::from_string(text).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// The owner of an account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum User {
    /// A connection without a name; its account goes with it.
    Connection(u64),
    /// A connection without a name at a relay, which names it.
    Relayed(Arc<str>),
    /// Someone who gave a name, on however many connections.
    Named(Arc<str>),
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // No user can choose such a name.
            Self::Connection(number) => write!(f, "#{number}"),
            Self::Relayed(name) => write!(f, "#r{name}"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// An event that the feed reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    /// The game it happened in.
    pub game: GameId,
    /// Counts the game's events from 1.
    pub number: u64,
    /// The side that scored; [`Outcome::None`] when the match ended and a new one begins.
    pub outcome: Outcome,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_predictions_have_the_published_size() {
        let placed = PlacedPrediction {
            id: 7,
            user: "ann".to_owned(),
            pool: PoolId(3),
            option: Outcome::Home,
            amount: 2,
        };
        let text = serde_json::to_string(&placed).unwrap();
        assert_eq!(text.len(), PREDICTION_BYTES, "{text}");
        let fields: serde_json::Value = serde_json::from_str(&text).unwrap();
        let expected = serde_json::json!({ "id": 7, "user": "ann", "pool": "p3", "option": "home", "amount": 2 });
        assert_eq!(fields, expected);
        let longer = PlacedPrediction { user: "x".repeat(200), ..placed };
        assert!(!serde_json::to_string(&longer).unwrap().contains(' '));
    }

    #[test]
    fn ids_have_one_spelling() {
        assert_eq!("g12".parse(), Ok(GameId(12)));
        assert_eq!(PoolId(7).to_string(), "p7");
        for bad in ["", "g", "g0", "g01", "g+1", "g-1", "p1", "g1 ", "G1", "g4294967296"] {
            assert_eq!(bad.parse::<GameId>(), Err(()), "{bad:?}");
        }
    }
}
