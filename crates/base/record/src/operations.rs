//! Operations of steps: what `operations`, `begun`, `completed` and `errors` count wherever a figure is of no single
//! measure. `docs/glossary.md` defines the words.

use crate::Outcome;

/// True for the kinds of measures whose operations are what steps do to the target: requests, messages that users send or
/// expect, and the opening of WebSockets and event streams. Connections and redirects are parts of these, transactions
/// are made of them, pushed messages are begun by the target, and a meeting is between users: each of them is counted
/// by its own measure alone.
pub fn is_of_step(kind: &str) -> bool {
    matches!(kind, "request" | "handshake")
}

/// True for what failed in a measure of this kind and is no operation of a step: steps that failed of themselves, and
/// conditions, times and meetings that could not be evaluated or done. Whether a condition holds, and others come in
/// time, has figures of its own.
pub fn is_own_failure(kind: &str, outcome: Outcome) -> bool {
    match kind {
        "step" => outcome.is_error(),
        "check" | "value" | "meeting" => outcome.is_own(),
        _ => false,
    }
}

/// The operations of steps in some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OperationCounts {
    /// Operations that began.
    pub begun: u64,
    /// Operations that succeeded or failed; those that the end of the run interrupted did neither.
    pub ended: u64,
    /// Those of them that the target answered, with success or with a failure.
    pub completed: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Failures that are no operation's; see [`is_own_failure`].
    pub own_failures: u64,
}

impl OperationCounts {
    /// Adds what began and ended of a measure of this kind.
    pub fn add(&mut self, kind: &str, begun: u64, ends: impl Iterator<Item = (Outcome, u64)>) {
        if !is_of_step(kind) {
            let own = ends.filter(|(outcome, _)| is_own_failure(kind, *outcome));
            self.own_failures += own.map(|(_, n)| n).sum::<u64>();
            return;
        }
        self.begun += begun;
        for (outcome, n) in ends.filter(|(outcome, _)| *outcome != Outcome::Unfinished) {
            self.ended += n;
            self.completed += if outcome.is_answered() { n } else { 0 };
            self.failed += if outcome.is_error() { n } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_and_blocks_are_no_operations_and_own_failures_are_errors() {
        let mut counts = OperationCounts::default();
        let mut add = |kind, begun, ends: &[(Outcome, u64)]| {
            counts.add(kind, begun, ends.iter().copied());
        };
        add("connect", 40, &[(Outcome::Ok, 30), (Outcome::Refused, 10)]);
        add("transaction", 20, &[(Outcome::Ok, 19), (Outcome::Status, 1)]);
        add("message", 500, &[(Outcome::Ok, 500)]);
        add("handshake", 5, &[(Outcome::Ok, 5)]);
        let ends = [
            (Outcome::Ok, 80),
            (Outcome::Status, 9),
            (Outcome::Timeout, 6),
            (Outcome::Unfinished, 3),
        ];
        add("request", 100, &ends);
        add("check", 50, &[(Outcome::Ok, 44), (Outcome::Check, 4), (Outcome::Step, 2)]);
        add("step", 7, &[(Outcome::Step, 7)]);
        let expected =
            OperationCounts { begun: 105, ended: 100, completed: 94, failed: 15, own_failures: 9 };
        assert_eq!(counts, expected);
    }
}
