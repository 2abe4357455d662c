//! Records in the cache: short texts with a version.

use std::time::Duration;

use redis::{Cmd, cmd};

use crate::bus::model::{Game, GameId, Pool, PoolId, Score, Shares};

/// How long a record is kept. One whose successor could not be written is read no longer than this.
const KEPT: Duration = Duration::from_secs(5);

/// Keeps a record unless the one that is there has a newer pool, or more money in the same pool. Numbers are compared
/// as decimal text: a total may exceed what a number of Lua holds.
const PUT: &str = r"
local function above(a, b)
  return #a > #b or (#a == #b and a > b)
end
local pool, total = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)')
if pool and (above(pool, ARGV[1]) or (pool == ARGV[1] and above(total, ARGV[2]))) then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3], 'PX', ARGV[4])
return 1
";

/// How new a record is. Pools of one game follow each other, and the money in a pool only grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    /// Number of the pool; 0: unknown.
    pool: u64,
    total: u64,
}

/// The names of a market's keys.
#[derive(Debug, Clone)]
pub(super) struct Names {
    prefix: String,
}

impl Names {
    /// Names of the market called `name`.
    pub(super) fn new(name: &str) -> Self {
        Self { prefix: format!("market:{name}:") }
    }
}

/// Something of a game that is kept under a key of its own.
pub(super) trait Record: Sized {
    fn key(names: &Names, game: GameId) -> String;

    /// The record in a text; `None` for any other text.
    fn parse(text: &str) -> Option<Self>;

    fn version(&self) -> Version;

    /// The text after the version.
    fn rest(&self) -> String;

    /// Whether it is older than what is known of the game's open pool.
    fn is_behind(&self, known: Version) -> bool;

    /// The command that keeps it, unless a newer one is there. Answers whether it was kept.
    fn put(&self, names: &Names, game: GameId) -> Cmd {
        let Version { pool, total } = self.version();
        let mut put = cmd("EVAL");
        put.arg(PUT).arg(1).arg(Self::key(names, game));
        put.arg(pool).arg(total).arg(self.rest()).arg(kept_ms());
        put
    }
}

/// A game's open pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenRecord {
    id: PoolId,
    shares: Shares,
}

/// A game's score, as long as a pool is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScoreRecord {
    /// 0 if it is not known which one.
    pub(super) pool: PoolId,
    pub(super) score: Score,
}

impl OpenRecord {
    /// A pool without predictions.
    pub(super) fn opened(id: PoolId) -> Self {
        Self { id, shares: Shares::default() }
    }

    pub(super) fn pool(&self, game: GameId) -> Pool {
        Pool { id: self.id, game, shares: self.shares, outcome: None }
    }
}

impl From<&Pool> for OpenRecord {
    fn from(pool: &Pool) -> Self {
        Self { id: pool.id, shares: pool.shares }
    }
}

impl Record for OpenRecord {
    fn key(names: &Names, game: GameId) -> String {
        format!("{}open:{game}", names.prefix)
    }

    fn parse(text: &str) -> Option<Self> {
        let [id, total, home, away, none] = numbers(text)?;
        let shares = Shares { home, away, none };
        let sum = home.checked_add(away)?.checked_add(none)?;
        (sum == total).then_some(Self { id: PoolId(id), shares })
    }

    fn version(&self) -> Version {
        Version { pool: self.id.0, total: self.shares.total() }
    }

    fn rest(&self) -> String {
        let Shares { home, away, none } = self.shares;
        format!("{home} {away} {none}")
    }

    fn is_behind(&self, known: Version) -> bool {
        self.version() < known
    }
}

impl ScoreRecord {
    /// The command that keeps what the store says of a game, if nothing is there. Answers whether it was kept.
    pub(super) fn fill(names: &Names, game: &Game) -> Cmd {
        let record = Self { pool: PoolId(0), score: game.score };
        let text = format!("0 0 {}", record.rest());
        let mut set = cmd("SET");
        set.arg(Self::key(names, game.id)).arg(text);
        set.arg("NX").arg("PX").arg(kept_ms());
        set
    }
}

impl Record for ScoreRecord {
    fn key(names: &Names, game: GameId) -> String {
        format!("{}score:{game}", names.prefix)
    }

    fn parse(text: &str) -> Option<Self> {
        let [pool, _, home, away] = numbers(text)?;
        Some(Self {
            pool: PoolId(pool),
            score: Score { home: u32::try_from(home).ok()?, away: u32::try_from(away).ok()? },
        })
    }

    fn version(&self) -> Version {
        Version { pool: self.pool.0, total: 0 }
    }

    fn rest(&self) -> String {
        let Score { home, away } = self.score;
        format!("{home} {away}")
    }

    fn is_behind(&self, known: Version) -> bool {
        // One that the store gave may be of any pool; it expires soon.
        self.pool.0 != 0 && self.pool.0 < known.pool
    }
}

fn kept_ms() -> u64 {
    server::stretch(KEPT).as_millis() as u64
}

/// The numbers in a text, which has exactly `N` of them.
fn numbers<const N: usize>(text: &str) -> Option<[u64; N]> {
    let numbers: Result<Vec<u64>, _> = text.split(' ').map(str::parse).collect();
    numbers.ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let shares = Shares { home: u64::MAX - 3, away: 2, none: 1 };
        let open = OpenRecord { id: PoolId(7), shares };
        let Version { pool, total } = open.version();
        let text = format!("{pool} {total} {}", open.rest());
        assert_eq!(OpenRecord::parse(&text), Some(open));
        let score = ScoreRecord { pool: PoolId(7), score: Score { home: 3, away: 0 } };
        assert_eq!(ScoreRecord::parse("7 0 3 0"), Some(score));
        for bad in [
            "",
            "7",
            "7 3 1 1",
            "7 4 1 1 1",
            "7 3 1 1 1 1",
            "7 3 1 -1 3",
            "7 0 18446744073709551615 1 0",
        ] {
            assert_eq!(OpenRecord::parse(bad), None, "{bad:?}");
        }
        assert_eq!(ScoreRecord::parse("7 0 4294967296 0"), None);
    }

    #[test]
    fn a_later_pool_is_newer_than_any_money_in_an_earlier_one() {
        let version = |pool, total| Version { pool, total };
        assert!(version(5, 0) > version(1, 900));
        assert!(version(1, 901) > version(1, 900));
        let score = |pool| ScoreRecord { pool: PoolId(pool), score: Score::default() };
        assert!(score(1).is_behind(version(5, 0)));
        assert!(!score(5).is_behind(version(5, 9)));
        assert!(!score(0).is_behind(version(5, 9)));
    }
}
