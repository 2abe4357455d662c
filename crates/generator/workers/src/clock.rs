//! The offset between a worker's clock and ours.
//!
//! Each exchange bounds the difference by half its round trip: the worker looked at its clock
//! somewhere between our two looks at ours. The exchange with the shortest round trip bounds it best
//! (Cristian, "Probabilistic clock synchronization", 1989; NTP chooses likewise, RFC 5905 §10).

/// The best exchange of such a time counts.
const WINDOW_NS: u64 = 10_000_000_000;
/// More windows are thinned.
const WINDOWS_MAX: usize = 10_000;

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
pub struct Offset {
    /// The difference that is to be added to our time.
    pub offset_ns: i64,
    /// The largest possible error of the offset.
    pub bound_ns: u64,
}

impl Offset {
    /// From the exchange with the shortest round trip; `None`: there are none.
    pub(crate) fn estimate(exchanges: &[Exchange]) -> Option<Offset> {
        let trip = |e: &Exchange| e.received_ns.saturating_sub(e.sent_ns);
        let best = exchanges.iter().min_by_key(|e| trip(e))?;
        let middle = i128::from(best.sent_ns) + i128::from(trip(best) / 2);
        let offset = i128::from(best.clock_ns) - middle;
        Some(Offset {
            // An offset of more than 292 years does not fit, and such a clock is of no use.
            offset_ns: i64::try_from(offset).unwrap_or(if offset < 0 {
                i64::MIN
            } else {
                i64::MAX
            }),
            bound_ns: trip(best).div_ceil(2),
        })
    }

    /// A moment of our clock on the worker's.
    pub fn theirs(self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.offset_ns)
    }
}

/// The offset in the course of a run: the best exchange of every ten seconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Course {
    /// The time of each window by our clock, and its offset.
    windows: Vec<(u64, Offset)>,
    /// The window that is not over: when it began, and its best exchange.
    open: Option<(u64, Exchange)>,
}

/// The drift of a clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Nanoseconds a second, which are thousandths of parts per million: the slope of the line through the offsets by
    /// least squares, each weighed by the square of its bound.
    pub rate: f64,
    /// At the last comparison.
    pub last: Offset,
}

impl Course {
    /// Takes an exchange that was made while the run went on.
    pub(crate) fn note(&mut self, exchange: Exchange) {
        let trip = |e: &Exchange| e.received_ns.saturating_sub(e.sent_ns);
        let (since_ns, best) = self.open.get_or_insert((exchange.sent_ns, exchange));
        if trip(&exchange) < trip(best) {
            *best = exchange;
        }
        if exchange.received_ns.saturating_sub(*since_ns) >= WINDOW_NS {
            let at_ns = best.sent_ns;
            let offset = Offset::estimate(&[*best]);
            self.windows.extend(offset.map(|offset| (at_ns, offset)));
            self.open = None;
            if self.windows.len() > WINDOWS_MAX {
                // Every second window gives nearly the same line.
                let mut keep = false;
                self.windows.retain(|_| {
                    keep = !keep;
                    keep
                });
            }
        }
    }

    /// The drift of the clock since `first`, which was measured at `at_ns`; `None`: it was not compared again.
    pub(crate) fn drift(&self, at_ns: u64, first: Offset) -> Option<Drift> {
        let (_, last) = *self.windows.last()?;
        let points = std::iter::once((at_ns, first)).chain(self.windows.iter().copied());
        let points = points.map(|(at, offset)| {
            let weight = 1.0 / (offset.bound_ns.max(1) as f64).powi(2);
            let x = (i128::from(at) - i128::from(at_ns)) as f64 / 1e9;
            let y = (i128::from(offset.offset_ns) - i128::from(first.offset_ns)) as f64;
            (x, y, weight)
        });
        let sum = |of: fn((f64, f64, f64)) -> f64| points.clone().map(of).sum::<f64>();
        let w = sum(|(_, _, w)| w);
        let wx = sum(|(x, _, w)| w * x);
        let wy = sum(|(_, y, w)| w * y);
        let wxx = sum(|(x, _, w)| w * x * x);
        let wxy = sum(|(x, y, w)| w * x * y);
        let spread = w * wxx - wx * wx;
        Some(Drift {
            rate: match spread > 0.0 {
                true => (w * wxy - wx * wy) / spread,
                false => 0.0,
            },
            last,
        })
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

    /// A clock that gains 20 µs a second, compared every two seconds with round trips of one to three milliseconds, of
    /// which the last window is not over.
    #[test]
    fn a_drift_is_found() {
        let mut course = Course::default();
        let first = Offset { offset_ns: 500, bound_ns: 400_000 };
        assert_eq!(course.drift(0, first), None);
        for number in 1..=64_u64 {
            let sent_ns = number * 2_000_000_000;
            let trip_ns = 1_000_000 + number % 5 * 500_000;
            let gained_ns = (sent_ns + trip_ns / 2) / 1_000_000_000 * 20_000;
            course.note(Exchange {
                sent_ns,
                received_ns: sent_ns + trip_ns,
                clock_ns: sent_ns + trip_ns / 2 + 500 + gained_ns,
            });
        }
        let drift = course.drift(0, first).unwrap();
        assert_eq!(course.windows.len(), 10);
        assert!((drift.rate - 20_000.0).abs() < 200.0, "{}", drift.rate);
        assert_eq!(drift.last.bound_ns, 500_000);
        // The shortest exchange of the last window is that of the 110th second.
        assert_eq!(drift.last.offset_ns, 110 * 20_000 + 500);
    }

    #[test]
    fn without_an_exchange_nothing_is_known() {
        assert_eq!(Offset::estimate(&[]), None);
    }
}
