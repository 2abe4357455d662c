//! Tables of distances by name, with their sources.
//!
//! | name | what | from where |
//! |---|---|---|
//! | `aws-2015` | round trips between eight regions of Amazon's cloud | those to Ireland, 3 ms within it included, are the thesis's. It has no others: these are the measured averages of "Latency Between AWS Global Regions" (2016), as <https://acomputerscientistlearnsaws.blogspot.com/2017/04/aws-regions.html> gives them, the mean of both directions. Its own figures to Ireland are within 4 % of the thesis's, but for Singapore: 239 ms beside 194 ms. Round trips within the other regions are taken to be those within Ireland. |
//! | `aws-2025` | round trips between twelve regions, those of `aws-2015` first | medians over a year of cloudping.co (M. Adorjan, <https://github.com/mda590/cloudping.co>), as `examples/estimator/src/p50.json` of <https://github.com/commonwarexyz/monorepo> at `4622dfb1` has them, the mean of both directions, which differ by 5 ms at most. Each is a TCP handshake from a function in one region with a service in the other, so that a round trip within a region has the service's time in it. The file has no date: it has Taipei's region, opened in June 2025, and not New Zealand's, opened in September. |
//! | `mobile-4g` | a phone's access link | WebPageTest's profile `LTE`: 12 Mbit/s in both directions, 70 ms round trip |
//! | `mobile-3g` | a phone's access link | WebPageTest's profile `3G`: 1.6 Mbit/s down, 768 kbit/s up, 300 ms round trip |
//!
//! There is no `aws-2026`: of that year only a part has been found. Of the pairs that both have, the medians of A. A. Pasi,
//! "AWS Inter-Region RTT Measurements for Network-Aware BFT Consensus Evaluation" (8 and 9 July 2026: Ireland, Virginia,
//! Oregon, Tokyo and Mumbai) are within 6 % of `aws-2025`.
//!
//! Neither profile has jitter, losses or a queue. Ours are assumptions, chosen so that losses come in bursts and delays have
//! a long tail, as studies of such networks report (Baltrūnas, Elmokashfi and Kvalbein, "Dissecting Packet Loss in
//! Mobile Broadband Networks from the Edge", INFOCOM 2015; M. Daoudi, "Network Latency on 4G", Performance Calendar
//! 2013): replace them if you have measured your users.

use crate::wan::link::{Backlog, Jitter, Link, Loss, Rate};

/// One-way delays, in nanoseconds, and the share of packets lost at it: the thesis's table. Between them it is
/// interpolated linearly, and beyond its ends it stays what it is there.
const LOSS_BY_DELAY: [(u64, f64); 4] =
    [(1_000_000, 0.006), (15_000_000, 0.007), (50_000_000, 0.010), (100_000_000, 0.014)];

/// Places and the round trips between them.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Name of the table.
    pub name: &'static str,
    /// The names of the places.
    pub places: &'static [&'static str],
    /// The round trips between places `a` ≥ `b`, row by row, in tenths of milliseconds.
    round_trips: &'static [u32],
}

/// The tables of places.
pub const TABLES: &[Table] = &[
    Table {
        name: "aws-2015",
        places: &[
            "ireland",
            "virginia",
            "oregon",
            "california",
            "sao-paulo",
            "singapore",
            "tokyo",
            "sydney",
        ],
        #[rustfmt::skip]
        round_trips: &[
            30,
            780, 30,
            1350, 878, 30,
            1520, 722, 193, 30,
            1940, 1195, 1827, 1927, 30,
            1940, 2167, 1614, 1740, 3281, 30,
            2170, 1453, 891, 1025, 2568, 738, 30,
            3140, 2299, 1621, 1577, 3225, 1754, 1039, 30,
        ],
    },
    Table {
        name: "aws-2025",
        places: &[
            "ireland",
            "virginia",
            "oregon",
            "california",
            "sao-paulo",
            "singapore",
            "tokyo",
            "sydney",
            "ohio",
            "frankfurt",
            "mumbai",
            "cape-town",
        ],
        #[rustfmt::skip]
        round_trips: &[
            32,
            697, 55,
            1184, 642, 32,
            1300, 641, 218, 28,
            1784, 1153, 1749, 1750, 33,
            1788, 2193, 1606, 1701, 3277, 37,
            2024, 1496, 984, 1085, 2586, 708, 28,
            2557, 1997, 1411, 1392, 3122, 948, 1064, 41,
            805, 158, 508, 528, 1257, 2040, 1360, 1883, 54,
            272, 929, 1426, 1531, 2045, 1608, 2273, 2515, 1037, 40,
            1256, 1911, 2222, 2318, 3014, 641, 1338, 1548, 2023, 1291, 32,
            1594, 2269, 2741, 2870, 3381, 3154, 3573, 4088, 2378, 1553, 2728, 45,
        ],
    },
];

/// Which packets the links of a table lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Losses {
    /// None.
    None,
    /// By the one-way delay, see [`loss_by_delay`].
    ByDelay,
}

impl Table {
    /// The table of this name.
    pub fn by_name(name: &str) -> Option<&'static Table> {
        TABLES.iter().find(|table| table.name == name)
    }

    /// The number of a place.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.places.iter().position(|place| *place == name)
    }

    /// The round trip between two places by number, in nanoseconds; `None` if one does not exist.
    pub fn round_trip_ns(&self, a: usize, b: usize) -> Option<u64> {
        let high = a.max(b);
        let low = a.min(b);
        let exists = high < self.places.len();
        let tenths = self.round_trips.get(high * (high + 1) / 2 + low);
        let tenths = exists.then_some(tenths).flatten()?;
        Some(u64::from(*tenths) * 100_000)
    }

    /// The matrix of links between all places, half of a round trip each way.
    pub fn links(&self, losses: Losses) -> Vec<Link> {
        let places = self.places.len();
        let pairs = (0..places).flat_map(|from| (0..places).map(move |to| (from, to)));
        pairs
            .filter_map(|(from, to)| self.round_trip_ns(from, to))
            .map(|round_trip_ns| {
                let delay_ns = round_trip_ns / 2;
                let loss = match losses {
                    Losses::None => Loss::None,
                    Losses::ByDelay => loss_by_delay(delay_ns),
                };
                Link { loss, ..Link::new(delay_ns) }
            })
            .collect()
    }
}

/// Independent losses by the one-way delay, in nanoseconds: 0.6 % at 1 ms, 0.7 % at 15 ms, 1.0 % at 50 ms and 1.4 %
/// at 100 ms and beyond.
pub fn loss_by_delay(delay_ns: u64) -> Loss {
    let first = LOSS_BY_DELAY[0];
    let last = LOSS_BY_DELAY[LOSS_BY_DELAY.len() - 1];
    let between = LOSS_BY_DELAY.windows(2).find(|ends| delay_ns < ends[1].0);
    let p = match between {
        _ if delay_ns <= first.0 => first.1,
        None => last.1,
        Some(ends) => {
            let low = ends[0];
            let high = ends[1];
            let share = (delay_ns - low.0) as f64 / (high.0 - low.0) as f64;
            low.1 + share * (high.1 - low.1)
        }
    };
    Loss::Independent { p }
}

/// A user's way to the network and back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Access {
    /// Name of the access.
    pub name: &'static str,
    /// To the user.
    pub down: Link,
    /// From the user.
    pub up: Link,
}

impl Access {
    /// The access of this name.
    pub fn by_name(name: &str) -> Option<&'static Access> {
        ACCESS.iter().find(|access| access.name == name)
    }
}

/// The access links.
pub const ACCESS: &[Access] = &[
    Access { name: "mobile-4g", down: mobile_4g(12_000_000), up: mobile_4g(12_000_000) },
    Access { name: "mobile-3g", down: mobile_3g(1_600_000), up: mobile_3g(768_000) },
];

/// 0.2 % lost, 4 packets in a row on average; 7 ms later than without jitter on average, 53 ms once in a hundred.
const fn mobile_4g(bits_per_s: u64) -> Link {
    Link {
        jitter: Jitter::Pareto { scale_ns: 10_000_000, shape: 2.5 },
        loss: bursts(0.0005, 0.25),
        rate: Some(Rate { bits_per_s, backlog: Backlog::Time(500_000_000) }),
        ..Link::new(35_000_000)
    }
}

/// 1 % lost, 5 packets in a row on average; 27 ms later than without jitter on average, 0.2 s once in a hundred.
const fn mobile_3g(bits_per_s: u64) -> Link {
    Link {
        jitter: Jitter::Pareto { scale_ns: 40_000_000, shape: 2.5 },
        loss: bursts(0.002, 0.2),
        rate: Some(Rate { bits_per_s, backlog: Backlog::Time(1_000_000_000) }),
        ..Link::new(150_000_000)
    }
}

/// Gilbert's model: nothing is lost in the good state, all in the bad one.
const fn bursts(good_to_bad: f64, bad_to_good: f64) -> Loss {
    Loss::GilbertElliott { good_to_bad, bad_to_good, loss_good: 0.0, loss_bad: 1.0 }
}

#[cfg(test)]
mod tests;
