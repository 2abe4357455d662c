//! How fine the times of a log are.

/// Steps that clocks have, nanoseconds, the coarsest first.
const STEPS_NS: [u64; 4] = [1_000_000_000, 1_000_000, 1_000, 1];
/// Minimum share of the lines that have a clock's step. Of a finer one that steps in tenths of a
/// second one line in ten seems to be of whole seconds.
const SHARE_MIN: f64 = 0.2;

/// Lines by the coarsest step that their times are multiples of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Steps([u64; STEPS_NS.len()]);

impl Steps {
    /// Counts a time, by what it is beyond its second.
    pub(super) fn add(&mut self, nanos: u32) {
        let step = |step_ns: &u64| u64::from(nanos).is_multiple_of(*step_ns);
        // The last step divides everything.
        let place = STEPS_NS.iter().position(step);
        self.0[place.unwrap_or(STEPS_NS.len() - 1)] += 1;
    }

    pub(super) fn merge(&mut self, other: Steps) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own += other;
        }
    }

    pub(super) fn lines(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The coarsest step of a relevant share of the lines, nanoseconds: finer times are truncated to it.
    pub(super) fn step_ns(&self) -> u64 {
        STEPS_NS[self.place()]
    }

    /// Lines whose times are finer than that.
    pub(super) fn finer(&self) -> u64 {
        self.0[self.place() + 1..].iter().sum()
    }

    fn place(&self) -> usize {
        let least = SHARE_MIN * self.lines() as f64;
        let is_clock = |&count: &u64| count as f64 >= least;
        // One of four has a quarter at least.
        self.0.iter().position(is_clock).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(times: impl IntoIterator<Item = u32>) -> (u64, u64) {
        let mut steps = Steps::default();
        times.into_iter().for_each(|nanos| steps.add(nanos));
        (steps.step_ns(), steps.finer())
    }

    #[test]
    fn few_fine_times_do_not_set_the_step() {
        assert_eq!(steps([]), (1_000_000_000, 0));
        assert_eq!(steps([0; 50]), (1_000_000_000, 0));
        assert_eq!(steps((0..50).map(|n| u32::from(n == 7) * 123_000_000)), (1_000_000_000, 1));
        assert_eq!(steps((0..1_000).map(|n| n * 1_000_000)), (1_000_000, 0));
        assert_eq!(steps((0..1_000).map(|n| n % 10 * 100_000_000)), (1_000_000, 0));
        assert_eq!(steps((0..1_000).map(|n| n * 1_000_007 % 1_000_000_000)), (1, 0));
        // A server of whole seconds beside one of milliseconds.
        assert_eq!(steps((0..1_000).map(|n| n % 3 * 333_000_000)), (1_000_000_000, 666));
    }
}
