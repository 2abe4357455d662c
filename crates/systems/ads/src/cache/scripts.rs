//! Scripts that Redis runs in one go, in Lua.
//!
//! All scripts take the same names, and the mark as their first value: where that is another, the counts
//! are not whole, and nothing is done.

/// Suffixes of a database's names, in the order in which scripts take them; one more follows.
pub(super) const COUNTS: [&str; 6] = [MARK, CAMPAIGNS, SHOWN, CONVERTED, CHANGED, CHANGES];
/// There while the counts are whole.
pub(super) const MARK: &str = "mark";
/// Exists while the counts are whole.
pub(super) const CAMPAIGNS: &str = "campaigns";
/// By ad.
pub(super) const SHOWN: &str = "shown";
/// How often each ad was shown.
pub(super) const CONVERTED: &str = "converted";
/// How often each ad converted.
pub(super) const CHANGED: &str = "changed";
/// Changes so far.
pub(super) const CHANGES: &str = "changes";

/// The scripts that Redis runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Take,
    GiveBack,
    Put,
    Get,
    Advance,
    Confirm,
    Undo,
    Figures,
}

/// A script with what each begins with.
macro_rules! where_whole {
    ($script:literal) => {
        concat!("if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {-1} end\n", $script)
    };
}

/// Values: campaign, ad, the campaign's limit, offer, seconds. Answers whether there was a place, how often the
/// campaign was shown, and the ad.
const TAKE: &str = where_whole!(
    "
local campaign = tonumber(redis.call('HGET', KEYS[2], ARGV[2]) or 0)
if campaign >= tonumber(ARGV[4]) then return {0, campaign, 0} end
redis.call('HINCRBY', KEYS[2], ARGV[2], 1)
local shown = redis.call('HINCRBY', KEYS[3], ARGV[3], 1)
redis.call('ZADD', KEYS[5], redis.call('INCR', KEYS[6]), ARGV[3])
redis.call('SET', KEYS[7], ARGV[5], 'EX', ARGV[6])
return {1, campaign + 1, shown}"
);

/// Values: campaign, ad; more do not matter. Where the offer is not there, its place was not taken, or was given back.
const GIVE_BACK: &str = where_whole!(
    "
if redis.call('DEL', KEYS[7]) == 0 then return 0 end
redis.call('HINCRBY', KEYS[2], ARGV[2], -1)
redis.call('HINCRBY', KEYS[3], ARGV[3], -1)
redis.call('ZADD', KEYS[5], redis.call('INCR', KEYS[6]), ARGV[3])
return 1"
);

/// Values: offer, seconds.
const PUT: &str = where_whole!(
    "
if redis.call('SET', KEYS[7], ARGV[2], 'EX', ARGV[3], 'NX') then return 1 end
return 0"
);

const GET: &str = where_whole!("return redis.call('GET', KEYS[7])");

/// Values: the step, who takes the offer there, whether it is what an ad's performance counts, and how long
/// the offer is kept while that is pending, in milliseconds, and later, in seconds. Answers the offer as it
/// was.
const ADVANCE: &str = where_whole!(
    "
local offer = redis.call('GET', KEYS[7])
if not offer then return false end
local free = (ARGV[2] - 1) .. ' ' .. string.rep('0', #ARGV[3])
if string.sub(offer, 1, #free) == free then
  redis.call('SETRANGE', KEYS[7], 2, ARGV[3])
  redis.call('PEXPIRE', KEYS[7], ARGV[5])
end
return offer"
);

/// Values as before: the step is recorded. Nothing where that is settled, or not by whom it was begun.
const CONFIRM: &str = where_whole!(
    "
local offer = redis.call('GET', KEYS[7])
local pending = (ARGV[2] - 1) .. ' ' .. ARGV[3]
if not offer or string.sub(offer, 1, #pending) ~= pending then return 0 end
redis.call('SETRANGE', KEYS[7], 0, ARGV[2] .. ' ' .. string.rep('0', #ARGV[3]))
redis.call('EXPIRE', KEYS[7], ARGV[6])
if ARGV[4] == '1' then
  local ad = string.match(offer, '^%d %x+ (%d+) ')
  redis.call('HINCRBY', KEYS[4], ad, 1)
  redis.call('ZADD', KEYS[5], redis.call('INCR', KEYS[6]), ad)
end
return 1"
);

/// Values as before: the step could not be recorded.
const UNDO: &str = where_whole!(
    "
local offer = redis.call('GET', KEYS[7])
local pending = (ARGV[2] - 1) .. ' ' .. ARGV[3]
if not offer or string.sub(offer, 1, #pending) ~= pending then return 0 end
redis.call('SETRANGE', KEYS[7], 2, string.rep('0', #ARGV[3]))
redis.call('EXPIRE', KEYS[7], ARGV[6])
return 1"
);

/// The name is that of a group's figures. Answers them by process.
const FIGURES: &str = where_whole!("return redis.call('HGETALL', KEYS[7])");

impl Script {
    pub(super) fn text(self) -> &'static str {
        match self {
            Script::Take => TAKE,
            Script::GiveBack => GIVE_BACK,
            Script::Put => PUT,
            Script::Get => GET,
            Script::Advance => ADVANCE,
            Script::Confirm => CONFIRM,
            Script::Undo => UNDO,
            Script::Figures => FIGURES,
        }
    }

    /// The script to run, with the same names and values, if nobody knows whether this one was run, or if the
    /// caller has stopped waiting: what was begun is taken back, what ends it is done again.
    pub(super) fn amends(self) -> Option<Script> {
        match self {
            Script::Take | Script::GiveBack => Some(Script::GiveBack),
            Script::Advance | Script::Undo => Some(Script::Undo),
            Script::Confirm => Some(Script::Confirm),
            Script::Put | Script::Get | Script::Figures => None,
        }
    }

    /// Whether it ends what another began. It is done whoever listens; once more it does nothing.
    pub(super) fn must_be(self) -> bool {
        self.amends() == Some(self)
    }
}
