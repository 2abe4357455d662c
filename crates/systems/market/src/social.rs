//! Users' own questions and their friends, as a store keeps them.
//!
//! A question is about a game and has a pool like a game's own: that of a *slot*, a game that nobody plays, whose pools
//! users' questions take one after the other. So its money is where all money is, is settled by an event of its slot, and
//! is counted with all other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::transactions::Answer;
use crate::bus::model::{Event, GameId, Outcome, PoolId};

/// Most questions about a game that are listed, newest first.
pub(crate) const LISTED_MAX: usize = 32;
/// Most users whom one calls friends.
pub(crate) const FRIENDS_MAX: usize = 200;
/// Most predictions of friends in a pool that are listed: the newest.
pub(crate) const FRIENDS_PREDICTIONS_MAX: usize = 200;
/// One part of so many of the slots is the most that a user's open questions take, so that others can ask.
const SLOTS_SHARE: u32 = 4;

/// The slots of a market.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) first: GameId,
    pub(crate) count: u32,
}

impl Slots {
    /// Most questions of one user that may be open at a time.
    pub(crate) fn each_max(self) -> u32 {
        (self.count / SLOTS_SHARE).max(1)
    }
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// Holds its money: that of the slot which takes the question.
    pub(crate) pool: PoolId,
    /// The game that it is about.
    pub(crate) about: GameId,
    pub(crate) text: String,
    /// The answers: those of [`Outcome::Home`] and of [`Outcome::Away`]. [`Outcome::None`] is no answer; a pool that is
    /// settled by it pays everyone back.
    pub(crate) answers: [String; 2],
    pub(crate) asker: Asker,
    pub(crate) seen_by: Viewers,
}

impl Question {
    /// The outcome that an answer names.
    pub(crate) fn outcome(&self, answer: &str) -> Option<Outcome> {
        let place = self.answers.iter().position(|known| known == answer)?;
        Some([Outcome::Home, Outcome::Away][place])
    }

    /// The answer of an outcome; `None`: it has none.
    pub(crate) fn answer(&self, outcome: Outcome) -> Option<&str> {
        match outcome {
            Outcome::Home => Some(&self.answers[0]),
            Outcome::Away => Some(&self.answers[1]),
            Outcome::None => None,
        }
    }
}

/// Who asks a question, and decides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asker {
    /// The user of this name.
    User(String),
    /// A rule, after an event of the game, which the next event decides.
    Rule(RuleOrigin),
}

/// The event after which a rule asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RuleOrigin {
    /// Number of the rule.
    pub(crate) rule: u32,
    /// Number of the event.
    pub(crate) event: u64,
    /// How the event came out.
    pub(crate) outcome: Outcome,
}

/// Who sees a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Viewers {
    /// Everyone.
    All,
    /// Friends of the asker.
    Friends,
}

/// The outcome of asking a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskResult {
    /// This pool has it.
    Asked(PoolId),
    /// Each slot has a question.
    NoSlot,
    /// As many questions of its user are open as may be.
    TooMany,
    /// The rule asked after this event before.
    AskedBefore,
    /// The event that would decide it is settled: whoever applied that event has not seen it.
    Late,
}

/// The part of a store that knows questions and friends. Each call is atomic.
pub(crate) trait Social: Send + Sync {
    /// Gives a question to the open pool of the first slot that has none.
    fn ask<'a>(&'a self, question: &'a Question, slots: Slots) -> Answer<'a, AskResult>;

    /// The question of a pool.
    fn question(&self, pool: PoolId) -> Answer<'_, Option<Question>>;

    /// Questions about a game, newest first; at most [`LISTED_MAX`].
    fn questions(&self, about: GameId) -> Answer<'_, Vec<Question>>;

    /// Questions that rules asked after this event of a game.
    fn asked_after(&self, about: GameId, event: u64) -> Answer<'_, Vec<Question>>;

    /// `user` calls `friend` a friend from now on. False: `user` calls [`FRIENDS_MAX`] others so.
    fn befriend<'a>(&'a self, user: &'a str, friend: &'a str) -> Answer<'a, bool>;

    /// Those whom `user` calls friends, and who call `user` one, by name; at most [`FRIENDS_MAX`].
    fn friends<'a>(&'a self, user: &'a str) -> Answer<'a, Vec<String>>;
}

/// Questions and friends of a market in memory, whose store tells it what was settled.
#[derive(Debug)]
pub(crate) struct MemorySocial(Mutex<SocialBooks>);

#[derive(Debug)]
struct SocialBooks {
    /// The open pools of slots that have no question.
    free: BTreeMap<GameId, PoolId>,
    /// The places of open questions by slot.
    taken: HashMap<GameId, usize>,
    /// Open questions by user.
    open_of: HashMap<String, u32>,
    /// The newest event of each game that was settled.
    settled: HashMap<GameId, u64>,
    /// In the order in which they were asked.
    questions: Vec<Question>,
    /// Their places by pool.
    by_pool: HashMap<PoolId, usize>,
    /// Their places by the game that they are about.
    by_game: HashMap<GameId, Vec<usize>>,
    /// The places of those that rules asked: by game, number of the event, and number of the rule.
    by_rule: BTreeMap<(GameId, u64, u32), usize>,
    /// Who calls whom a friend.
    friends: BTreeSet<(String, String)>,
}

impl SocialBooks {
    fn new(slots: Slots) -> Self {
        let slots = (slots.first.0..).take(slots.count as usize).map(GameId);
        Self {
            // The first pool of a game has the game's number.
            free: slots.map(|slot| (slot, PoolId(slot.0.into()))).collect(),
            taken: HashMap::new(),
            open_of: HashMap::new(),
            settled: HashMap::new(),
            questions: Vec::new(),
            by_pool: HashMap::new(),
            by_game: HashMap::new(),
            by_rule: BTreeMap::new(),
            friends: BTreeSet::new(),
        }
    }

    fn ask(&mut self, question: &Question, slots: Slots) -> AskResult {
        let Some((&slot, &pool)) = self.free.first_key_value() else {
            return AskResult::NoSlot;
        };
        let place = self.questions.len();
        match &question.asker {
            Asker::User(name) => {
                let open = self.open_of.entry(name.clone()).or_default();
                if *open >= slots.each_max() {
                    return AskResult::TooMany;
                }
                *open += 1;
            }
            Asker::Rule(RuleOrigin { rule, event, .. }) => {
                let origin = (question.about, *event, *rule);
                if self.by_rule.contains_key(&origin) {
                    return AskResult::AskedBefore;
                }
                if self.settled.get(&question.about).is_some_and(|newest| newest > event) {
                    return AskResult::Late;
                }
                self.by_rule.insert(origin, place);
            }
        }
        self.free.remove(&slot);
        self.taken.insert(slot, place);
        self.by_pool.insert(pool, place);
        self.by_game.entry(question.about).or_default().push(place);
        self.questions.push(Question { pool, ..question.clone() });
        AskResult::Asked(pool)
    }

    /// An event was settled, and `next` is its game's open pool; or it was settled before, and later ones may have been.
    fn settled(&mut self, event: Event, next: PoolId) {
        let newest = self.settled.entry(event.game).or_default();
        *newest = event.number.max(*newest);
        let place = self.taken.get(&event.game).copied();
        let Some(place) = place.filter(|&place| self.questions[place].pool < next) else {
            return;
        };
        self.taken.remove(&event.game);
        self.free.insert(event.game, next);
        if let Asker::User(name) = &self.questions[place].asker
            && let Some(open) = self.open_of.get_mut(name)
        {
            *open -= 1;
            if *open == 0 {
                self.open_of.remove(name);
            }
        }
    }

    fn question(&self, pool: PoolId) -> Option<Question> {
        self.by_pool.get(&pool).map(|&place| self.questions[place].clone())
    }

    fn questions(&self, about: GameId) -> Vec<Question> {
        let places = self.by_game.get(&about).into_iter().flatten().rev();
        places.take(LISTED_MAX).map(|&place| self.questions[place].clone()).collect()
    }

    fn asked_after(&self, about: GameId, event: u64) -> Vec<Question> {
        let places = self.by_rule.range((about, event, 0)..=(about, event, u32::MAX));
        places.map(|(_, &place)| self.questions[place].clone()).collect()
    }

    fn befriend(&mut self, user: &str, friend: &str) -> bool {
        let others = self.called(user).filter(|called| *called != friend).count();
        if others >= FRIENDS_MAX {
            return false;
        }
        self.friends.insert((user.to_owned(), friend.to_owned()));
        true
    }

    /// Whom a user calls friends.
    fn called<'a>(&'a self, user: &'a str) -> impl Iterator<Item = &'a String> {
        let from = (user.to_owned(), String::new());
        let called = self.friends.range(from..).take_while(move |(caller, _)| caller == user);
        called.map(|(_, friend)| friend)
    }

    fn friends(&self, user: &str) -> Vec<String> {
        let calls_back =
            |friend: &&String| self.friends.contains(&((*friend).clone(), user.to_owned()));
        self.called(user).filter(calls_back).cloned().collect()
    }
}

impl MemorySocial {
    /// No questions yet in these slots.
    pub(crate) fn new(slots: Slots) -> Self {
        Self(Mutex::new(SocialBooks::new(slots)))
    }

    /// An event was settled, and `next` is the pool that was opened by it.
    pub(crate) fn settled(&self, event: Event, next: PoolId) {
        self.books().settled(event, next);
    }

    fn books(&self) -> MutexGuard<'_, SocialBooks> {
        // Each change is one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Social for MemorySocial {
    fn ask<'a>(&'a self, question: &'a Question, slots: Slots) -> Answer<'a, AskResult> {
        Box::pin(async move { Ok(self.books().ask(question, slots)) })
    }

    fn question(&self, pool: PoolId) -> Answer<'_, Option<Question>> {
        Box::pin(async move { Ok(self.books().question(pool)) })
    }

    fn questions(&self, about: GameId) -> Answer<'_, Vec<Question>> {
        Box::pin(async move { Ok(self.books().questions(about)) })
    }

    fn asked_after(&self, about: GameId, event: u64) -> Answer<'_, Vec<Question>> {
        Box::pin(async move { Ok(self.books().asked_after(about, event)) })
    }

    fn befriend<'a>(&'a self, user: &'a str, friend: &'a str) -> Answer<'a, bool> {
        Box::pin(async move { Ok(self.books().befriend(user, friend)) })
    }

    fn friends<'a>(&'a self, user: &'a str) -> Answer<'a, Vec<String>> {
        Box::pin(async move { Ok(self.books().friends(user)) })
    }
}
