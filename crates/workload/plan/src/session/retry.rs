//! Steps that are tried again.

use std::ops::Range;

use serde::Serialize;
use stats::rng::Rng;

use crate::expr::Expr;
use crate::ids::{MeasureId, Pc, Register};
use crate::reconnect::Jitter;

/// Steps that are tried again if one of them fails.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Retry {
    /// The instructions of an attempt, with its [`Op::RetryEnd`](crate::Op::RetryEnd). Before them
    /// stand the [`Op::TransactionStart`](crate::Op::TransactionStart) of all attempts and the
    /// [`Op::RetryStart`](crate::Op::RetryStart).
    pub instructions: Range<Pc>,
    /// All attempts together.
    pub measure: MeasureId,
    /// Attempts that have begun.
    pub attempts: Register,
    /// Most attempts, from 2.
    pub attempts_max: u32,
    /// Failures that are tried again; `None`: all.
    pub failures: Option<Failures>,
    /// After such a failure: whether there is another attempt.
    pub when: Option<Expr>,
    /// The pause before the second attempt.
    pub pause_ns: u64,
    /// Each further pause is longer by this factor, from 1.
    pub factor: f64,
    /// Longest pause.
    pub pause_max_ns: u64,
    pub jitter: Jitter,
    /// Pauses that the user has drawn.
    pub draws: Register,
    /// The instruction at which the user continues if the last attempt has failed; `None`: its
    /// session fails.
    pub otherwise: Option<Pc>,
    /// An attempt opens a WebSocket, a TCP connection or an event stream, or begins to poll.
    pub opens_stream: bool,
}

/// Ways in which a step can fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failures {
    /// Kinds by name, as in results.
    pub kinds: Vec<String>,
    /// Statuses that the step does not allow, as inclusive ranges.
    pub statuses: Vec<(u16, u16)>,
}

impl Failures {
    /// The name of failures of statuses.
    const STATUS: &str = "status";

    /// Is a failure of this kind, with this status, among them?
    pub fn contain(&self, kind: &str, status: u16) -> bool {
        let mut ranges = self.statuses.iter();
        let mut has_status = || ranges.any(|&(low, high)| (low..=high).contains(&status));
        self.kinds.iter().any(|known| known == kind) || (kind == Failures::STATUS && has_status())
    }
}

impl Retry {
    /// The instruction at which the transaction of all attempts begins.
    pub fn begins(&self) -> Pc {
        self.instructions.start - 2
    }

    /// The pause after this many attempts, from 1: that many times as long as the first one as the factor says, and
    /// shorter by what is drawn.
    pub fn pause_ns(&self, attempts: u64, rng: &mut Rng) -> u64 {
        let grown = self.factor.powf(attempts.saturating_sub(1) as f64);
        let longest = (self.pause_ns as f64 * grown).min(self.pause_max_ns as f64);
        (longest * self.jitter.share(rng)) as u64
    }
}

#[cfg(test)]
mod tests {
    use stats::rng::Purpose;

    use super::*;

    fn retry(factor: f64, jitter: Jitter) -> Retry {
        Retry {
            instructions: 2..4,
            measure: MeasureId(1),
            attempts: Register(0),
            attempts_max: 6,
            failures: None,
            when: None,
            pause_ns: 100,
            factor,
            pause_max_ns: 1000,
            jitter,
            draws: Register(1),
            otherwise: None,
            opens_stream: false,
        }
    }

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let mut rng = Rng::new(1, 0, Purpose::Retry);
        let mut pauses = |factor, jitter| {
            let retry = retry(factor, jitter);
            [1, 2, 3, 4, 5, 99].map(|attempts| retry.pause_ns(attempts, &mut rng))
        };
        assert_eq!(pauses(2.0, Jitter::None), [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(pauses(1.0, Jitter::None), [100; 6]);
        assert_eq!(pauses(1.5, Jitter::None), [100, 150, 225, 337, 506, 1000]);
        let longest = [100, 200, 400, 800, 1000, 1000];
        for (pause, longest) in pauses(2.0, Jitter::Equal).iter().zip(longest) {
            assert!((longest / 2..=longest).contains(pause), "{pause}");
        }
    }

    #[test]
    fn a_status_is_meant_only_where_it_is_the_failure() {
        let failures = Failures { kinds: vec!["timeout".to_owned()], statuses: vec![(500, 599)] };
        assert!(failures.contain("timeout", 0));
        assert!(failures.contain("status", 503));
        assert!(!failures.contain("status", 404));
        assert!(!failures.contain("check", 503));
    }
}
