//! What Redis does in one go, in Lua.

/// The counts of a database, in the order in which scripts take their names. An offer's name follows
/// where there is one, or goes before.
pub(super) const COUNTS: [&str; 6] = [MARK, CAMPAIGNS, SHOWN, CONVERTED, CHANGED, CHANGES];
/// There while the counts are whole.
pub(super) const MARK: &str = "mark";
/// By campaign: how often it was shown.
pub(super) const CAMPAIGNS: &str = "campaigns";
/// By ad.
pub(super) const SHOWN: &str = "shown";
/// By ad.
pub(super) const CONVERTED: &str = "converted";
/// Ads by the number of the change that was their last.
pub(super) const CHANGED: &str = "changed";
/// Changes so far.
pub(super) const CHANGES: &str = "changes";

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Take,
    GiveBack,
    Put,
    Get,
    Advance,
    Undo,
}

/// Values: mark, campaign, its limit, ad, offer, seconds. Answers whether there was a place (-1: the
/// counts are not whole), how often the campaign was shown, and the ad.
const TAKE: &str = "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {-1, 0, 0} end
local campaign = tonumber(redis.call('HGET', KEYS[2], ARGV[2]) or 0)
if campaign >= tonumber(ARGV[3]) then return {0, campaign, 0} end
redis.call('HINCRBY', KEYS[2], ARGV[2], 1)
local shown = redis.call('HINCRBY', KEYS[3], ARGV[4], 1)
redis.call('ZADD', KEYS[5], redis.call('INCR', KEYS[6]), ARGV[4])
redis.call('SET', KEYS[7], ARGV[5], 'EX', ARGV[6])
return {1, campaign + 1, shown}";

/// Values: mark, campaign, ad.
const GIVE_BACK: &str = "
redis.call('DEL', KEYS[7])
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('HINCRBY', KEYS[2], ARGV[2], -1)
redis.call('HINCRBY', KEYS[3], ARGV[3], -1)
redis.call('ZADD', KEYS[5], redis.call('INCR', KEYS[6]), ARGV[3])
return 1";

/// Values: offer, seconds.
const PUT: &str = "
if redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2], 'NX') then return 1 end
return 0";

const GET: &str = "return redis.call('GET', KEYS[1])";

/// The offer's name goes before. Values: the step, and whether it is what an ad's performance counts.
/// Answers the offer as it was.
const ADVANCE: &str = "
local offer = redis.call('GET', KEYS[1])
if not offer then return false end
if tonumber(string.sub(offer, 1, 1)) == ARGV[1] - 1 then
  redis.call('SETRANGE', KEYS[1], 0, ARGV[1])
  if ARGV[2] == '1' and redis.call('EXISTS', KEYS[2]) == 1 then
    local ad = string.match(offer, '^%d (%d+) ')
    redis.call('HINCRBY', KEYS[5], ad, 1)
    redis.call('ZADD', KEYS[6], redis.call('INCR', KEYS[7]), ad)
  end
end
return offer";

/// As before; undoes it where nothing followed.
const UNDO: &str = "
local offer = redis.call('GET', KEYS[1])
if not offer or string.sub(offer, 1, 1) ~= ARGV[1] then return 0 end
redis.call('SETRANGE', KEYS[1], 0, ARGV[1] - 1)
if ARGV[2] == '1' and redis.call('EXISTS', KEYS[2]) == 1 then
  local ad = string.match(offer, '^%d (%d+) ')
  redis.call('HINCRBY', KEYS[5], ad, -1)
  redis.call('ZADD', KEYS[6], redis.call('INCR', KEYS[7]), ad)
end
return 1";

impl Script {
    pub(super) fn text(self) -> &'static str {
        match self {
            Script::Take => TAKE,
            Script::GiveBack => GIVE_BACK,
            Script::Put => PUT,
            Script::Get => GET,
            Script::Advance => ADVANCE,
            Script::Undo => UNDO,
        }
    }
}
