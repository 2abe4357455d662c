//! The offset between a worker's clock and ours.
//!
//! Each exchange bounds the difference by half its round trip: the worker looked at its clock
//! somewhere between our two looks at ours. The exchange with the shortest round trip bounds it best
//! (Cristian, "Probabilistic clock synchronization", 1989; NTP chooses likewise, RFC 5905 §10).

/// Exchanges that are made with each worker.
pub(crate) const EXCHANGES: u32 = 16;

/// One ping and its pong. The first two times are by our clock, the third by the worker's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) sent_ns: u64,
    pub(crate) received_ns: u64,
    pub(crate) clock_ns: u64,
}

/// The worker's clock minus ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Offset {
    pub(crate) offset_ns: i64,
    /// The largest possible error of the offset.
    pub(crate) bound_ns: u64,
}

impl Offset {
    /// From the exchange with the shortest round trip; `None`: there are none.
    pub(crate) fn estimate(exchanges: &[Exchange]) -> Option<Offset> {
        let trip = |e: &Exchange| e.received_ns.saturating_sub(e.sent_ns);
        let best = exchanges.iter().min_by_key(|e| trip(e))?;
        let middle = i128::from(best.sent_ns) + i128::from(trip(best) / 2);
        let offset = i128::from(best.clock_ns) - middle;
        Some(Offset {
            // A clock that is 292 years off is wrong anyway.
            offset_ns: i64::try_from(offset).unwrap_or(if offset < 0 {
                i64::MIN
            } else {
                i64::MAX
            }),
            bound_ns: trip(best).div_ceil(2),
        })
    }

    /// A moment of our clock on the worker's.
    pub(crate) fn theirs(self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the two ways took, the truth is within the bound.
        #[test]
        fn the_bound_holds(
            truth in -1_000_000_i64..1_000_000,
            trips in prop::collection::vec((0_u64..10_000, 0_u64..10_000), 1..20),
        ) {
            let mut now_ns = 5_000_000;
            let exchanges: Vec<Exchange> = trips.iter().map(|&(there, back)| {
                let sent_ns = now_ns;
                now_ns += there + back + 1_000;
                Exchange {
                    sent_ns,
                    received_ns: sent_ns + there + back,
                    clock_ns: (sent_ns + there).saturating_add_signed(truth),
                }
            }).collect();
            let found = Offset::estimate(&exchanges).unwrap();
            prop_assert!(found.offset_ns.abs_diff(truth) <= found.bound_ns);
            let shortest = trips.iter().map(|(there, back)| there + back).min().unwrap();
            prop_assert_eq!(found.bound_ns, shortest.div_ceil(2));
            prop_assert_eq!(Offset { offset_ns: truth, bound_ns: 0 }.theirs(2_000_000), 2_000_000_u64.saturating_add_signed(truth));
        }
    }

    #[test]
    fn without_an_exchange_nothing_is_known() {
        assert_eq!(Offset::estimate(&[]), None);
    }
}
