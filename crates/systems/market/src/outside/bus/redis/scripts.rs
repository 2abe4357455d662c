//! Scripts that Redis runs in one go, and the names of the keys that they use.
//!
//! Each game has a hash: `seq`, the number of the last message; `state`, the last distribution as text, with
//! `pool` and `total`, than which none older is published; `text`, that distribution as it was sent, under
//! the number `text_seq`; `event`, the number of the last event. Numbers are compared as decimal text: a
//! total may exceed what a number of Lua holds.

use redis::{Cmd, cmd};
use serde::Serialize;

use crate::bus::messages::{StampedUpdate, Update};
use crate::bus::model::GameId;
use crate::outside::bus::tokens::Token;

/// A text that no message contains otherwise: the place of the number.
const NUMBER: &str = "\"seq\":0,";

/// Functions that several scripts use.
const COMMON: &str = r"
local function above(a, b)
  return #a > #b or (#a == #b and a > b)
end
local function higher(a, b)
  if above(a, b) then return a end
  return b
end
local function plus(a, n)
  return string.format('%.0f', tonumber(a) + n)
end
";

/// Claims the batch: 0, or the milliseconds for which another has it.
const CLAIM: &str = r"
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local left = redis.call('PTTL', KEYS[1])
if left < 0 then return tonumber(ARGV[2]) end
return math.max(left, 1)
";

/// Ends a claim, if it is still there.
const RELEASE: &str = r"
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
";

/// Publishes a distribution. Answers its number; 0 if it is not newer than the last one, whose claim is then
/// released; or -1 if another holds the batch. Without `checked` it is published in any case. The claim counts from
/// here, so that two distributions are at least one batch time apart.
const STATE: &str = r"
local seen, checked, token, batch = ARGV[1], ARGV[2] == '1', ARGV[3], ARGV[4]
local state, pool, total = ARGV[5], ARGV[6], ARGV[7]
local before, after, bytes_min = ARGV[8], ARGV[9], tonumber(ARGV[10])
local last = redis.call('HMGET', KEYS[1], 'seq', 'state', 'pool', 'total')
if checked then
  local claim = redis.call('GET', KEYS[2])
  if token ~= '' and claim and claim ~= token then return -1 end
  local old = last[3] and pool ~= ''
    and (above(last[3], pool) or (last[3] == pool and above(last[4], total)))
  if old or last[2] == state then
    if token ~= '' and claim then redis.call('DEL', KEYS[2]) end
    return 0
  end
end
local seq = plus(higher(last[1] or '0', seen), 1)
local text = before .. seq .. after
if #text < bytes_min then text = text .. string.rep(' ', bytes_min - #text) end
redis.call('HSET', KEYS[1], 'seq', seq, 'state', state, 'text', text, 'text_seq', seq)
if pool ~= '' then redis.call('HSET', KEYS[1], 'pool', pool, 'total', total) end
if checked and token ~= '' then redis.call('SET', KEYS[2], token, 'PX', batch) end
redis.call('PUBLISH', KEYS[1], 'state ' .. seq .. ' 0 ' .. text)
return tonumber(seq)
";

/// Publishes what an event brought about, once. Answers the number of the last message, or 0 if it was published
/// before.
const EVENT: &str = r"
local seen, seen_event, number, next = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local last = redis.call('HMGET', KEYS[1], 'seq', 'event', 'pool')
if not above(number, higher(last[2] or '0', seen_event)) then return 0 end
local first = higher(last[1] or '0', seen)
local count = (#ARGV - 4) / 2
redis.call('HSET', KEYS[1], 'seq', plus(first, count), 'event', number)
if next ~= '' and above(next, last[3] or '0') then
  redis.call('HSET', KEYS[1], 'pool', next, 'total', '0')
end
for i = 1, count do
  local seq = plus(first, i)
  local text = ARGV[3 + 2 * i] .. seq .. ARGV[4 + 2 * i]
  redis.call('PUBLISH', KEYS[1], 'event ' .. seq .. ' ' .. number .. ' ' .. text)
end
return tonumber(plus(first, count))
";

/// Raises the numbers of games to what was seen. A game whose number was lower has lost its last state, which is
/// then published again. Answers how many games these were.
const RAISE: &str = r"
local raised = 0
for i, key in ipairs(KEYS) do
  local last = redis.call('HMGET', key, 'seq', 'event')
  local seq, event = ARGV[2 * i - 1], ARGV[2 * i]
  if above(seq, last[1] or '0') then
    redis.call('HSET', key, 'seq', seq)
    redis.call('HDEL', key, 'state', 'text', 'text_seq')
    raised = raised + 1
  end
  if above(event, last[2] or '0') then redis.call('HSET', key, 'event', event) end
end
return raised
";

/// How games stand: for each the numbers of its last message, event and distribution, and the latter's text
/// unless its number is known.
const STANDING: &str = r"
local all = {}
for i, key in ipairs(KEYS) do
  local last = redis.call('HMGET', key, 'seq', 'event', 'text_seq')
  local text_seq, text = last[3] or '0', ''
  if above(text_seq, ARGV[i]) then text = redis.call('HGET', key, 'text') or '' end
  all[#all + 1] = tonumber(last[1] or '0')
  all[#all + 1] = tonumber(last[2] or '0')
  all[#all + 1] = tonumber(text_seq)
  all[#all + 1] = text
end
return all
";

/// The names of a market's keys and channels.
#[derive(Debug, Clone)]
pub(super) struct Names {
    prefix: String,
}

impl Names {
    /// Names of the market called `name`.
    pub(super) fn new(name: &str) -> Self {
        Self { prefix: format!("market:{name}:") }
    }

    /// The hash of a game, and its channel.
    pub(super) fn game(&self, game: GameId) -> String {
        format!("{}bus:{game}", self.prefix)
    }

    /// The key of who publishes in this batch time.
    pub(super) fn claim(&self, game: GameId) -> String {
        format!("{}claim:{game}", self.prefix)
    }

    /// A pattern for the channels of all games.
    pub(super) fn channels(&self) -> String {
        format!("{}bus:*", self.prefix)
    }

    /// The game of a channel.
    pub(super) fn game_of(&self, channel: &str) -> Option<GameId> {
        let game = channel.strip_prefix(&self.prefix)?.strip_prefix("bus:")?;
        game.parse().ok()
    }
}

/// A message around its number, which the script fills in.
struct MessageParts {
    before: String,
    after: String,
}

impl MessageParts {
    fn new(game: GameId, update: Update, sent_at_ms: f64) -> Self {
        let text = json(&StampedUpdate::new(game, update, 0, sent_at_ms));
        let (before, after) =
            text.rsplit_once(NUMBER).expect("every message has its number near its end");
        Self { before: format!("{before}\"seq\":"), after: format!(",{after}") }
    }
}

fn json(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("plain data without maps always encodes")
}

/// The text by which states are compared.
pub(super) fn state_text(update: &Update) -> String {
    json(update)
}

fn eval(script: &str, keys: &[String]) -> Cmd {
    let mut command = cmd("EVAL");
    command.arg(script).arg(keys.len()).arg(keys);
    command
}

fn eval_with_common(script: &str, keys: &[String]) -> Cmd {
    eval(&[COMMON, script].concat(), keys)
}

/// Answers milliseconds, 0 if it was won.
pub(super) fn claim(names: &Names, game: GameId, token: &Token) -> Cmd {
    let mut command = eval(CLAIM, &[names.claim(game)]);
    command.arg(&token.text).arg(token.batch_ms());
    command
}

pub(super) fn release(names: &Names, game: GameId, token: &Token) -> Cmd {
    let mut command = eval(RELEASE, &[names.claim(game)]);
    command.arg(&token.text);
    command
}

/// Number and time of a publication.
pub(super) struct Stamp {
    /// The highest number that was seen.
    pub(super) seen: u64,
    pub(super) sent_at_ms: f64,
}

/// Publishes a distribution. `checked`: not if it is old, and only under the token, if one is given.
pub(super) fn publish_state(
    names: &Names,
    game: GameId,
    update: Update,
    bytes_min: usize,
    stamp: &Stamp,
    checked: bool,
    token: Option<&Token>,
) -> Cmd {
    let text = state_text(&update);
    let (pool, total) = match &update {
        Update::Distribution { pool, total, .. } => (pool.0.to_string(), total.to_string()),
        Update::Goal { .. } | Update::FullTime | Update::Settled { .. } => Default::default(),
    };
    let MessageParts { before, after } = MessageParts::new(game, update, stamp.sent_at_ms);
    let mut command = eval_with_common(STATE, &[names.game(game), names.claim(game)]);
    command
        .arg(stamp.seen)
        .arg(u8::from(checked))
        .arg(token.map_or("", |token| &token.text))
        .arg(token.map_or(0, Token::batch_ms))
        .arg(text)
        .arg(pool)
        .arg(total)
        .arg(before)
        .arg(after)
        .arg(bytes_min);
    command
}

pub(super) fn publish_event(
    names: &Names,
    game: GameId,
    number: u64,
    updates: &[Update],
    stamp: &Stamp,
    seen_event: u64,
) -> Cmd {
    let next = updates.iter().find_map(|update| match update {
        Update::Settled { next, .. } => Some(next.0.to_string()),
        Update::Distribution { .. } | Update::Goal { .. } | Update::FullTime => None,
    });
    let mut command = eval_with_common(EVENT, &[names.game(game)]);
    command.arg(stamp.seen).arg(seen_event).arg(number).arg(next.unwrap_or_default());
    for update in updates {
        let MessageParts { before, after } =
            MessageParts::new(game, update.clone(), stamp.sent_at_ms);
        command.arg(before).arg(after);
    }
    command
}

/// `games` with the highest numbers of their messages and events.
pub(super) fn raise(names: &Names, games: &[(GameId, u64, u64)]) -> Cmd {
    let keys: Vec<String> = games.iter().map(|(game, ..)| names.game(*game)).collect();
    let mut command = eval_with_common(RAISE, &keys);
    for (_, seq, event) in games {
        command.arg(*seq).arg(*event);
    }
    command
}

/// `games` with the number of the last message that was received of each.
pub(super) fn standing(names: &Names, games: &[(GameId, u64)]) -> Cmd {
    let keys: Vec<String> = games.iter().map(|(game, _)| names.game(*game)).collect();
    let mut command = eval_with_common(STANDING, &keys);
    for (_, known) in games {
        command.arg(*known);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::messages::text_of;
    use crate::bus::model::Outcome;

    #[test]
    fn parts_make_the_message_that_the_memory_bus_makes() {
        let update = Update::Goal { side: Outcome::Home, score: Default::default() };
        let MessageParts { before, after } =
            MessageParts::new(GameId(3), update.clone(), 1_786_000_000_000.125);
        let expected = StampedUpdate::new(GameId(3), update, 17, 1_786_000_000_000.125).encode(0);
        assert_eq!(format!("{before}17{after}"), text_of(&expected));
    }

    #[test]
    fn a_channel_names_its_game() {
        let names = Names::new("a1");
        assert_eq!(names.game_of(&names.game(GameId(12))), Some(GameId(12)));
        for other in ["market:a2:bus:g1", "market:a1:claim:g1", "market:a1:bus:p1"] {
            assert_eq!(names.game_of(other), None, "{other}");
        }
    }
}
