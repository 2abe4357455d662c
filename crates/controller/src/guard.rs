//! The memory guard: ends the ramp, and then the run, before the kernel has to choose a victim.

use std::time::{Duration, Instant};

use engine::driver::real::StopFlag;
use machine::Memory;
use record::schema::EventKind;

/// How often memory is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// How short memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pressure {
    /// Not at all.
    None,
    /// The reserve is touched: nobody may start any more.
    Short,
    /// Half of the reserve is gone: the run must end.
    Gone,
}

fn pressure(memory: &Memory) -> Pressure {
    match memory.available_bytes {
        left if left >= memory.reserve_bytes() => Pressure::None,
        left if left >= memory.reserve_bytes() / 2 => Pressure::Short,
        _ => Pressure::Gone,
    }
}

/// Looks at memory once a second.
#[derive(Debug)]
pub(crate) struct Guard {
    looked: Option<Instant>,
    pressure: Pressure,
}

impl Guard {
    pub(crate) fn new() -> Guard {
        Guard {
            looked: None,
            pressure: Pressure::None,
        }
    }

    /// Looks where it is time to, stops what must be stopped, and returns what is to be told.
    /// `users` are present.
    pub(crate) fn heed(&mut self, stop: &StopFlag, users: u64) -> Vec<EventKind> {
        #[expect(
            clippy::disallowed_methods,
            reason = "memory runs out by the wall clock, however far the loops have told"
        )]
        let now = Instant::now();
        if self.looked.is_some_and(|at| now.duration_since(at) < EVERY) {
            return Vec::new();
        }
        self.looked = Some(now);
        let Some(memory) = Memory::read() else {
            return Vec::new();
        };
        self.judge(&memory, stop, users)
    }

    /// True where the guard ended the run.
    pub(crate) fn has_ended_run(&self) -> bool {
        self.pressure == Pressure::Gone
    }

    /// Pressure only rises: memory that comes back does not undo a ramp that was ended.
    fn judge(&mut self, memory: &Memory, stop: &StopFlag, users: u64) -> Vec<EventKind> {
        let before = self.pressure;
        self.pressure = before.max(pressure(memory));
        let mut told = Vec::new();
        if before < Pressure::Short && self.pressure >= Pressure::Short {
            stop.close_arrivals();
            told.push(EventKind::MemoryPressure {
                available_bytes: memory.available_bytes,
                users,
            });
        }
        if before < Pressure::Gone && self.pressure == Pressure::Gone {
            stop.drain();
            let text = format!(
                "memory ran out, with {} left: the run ended there",
                units::bytes(memory.available_bytes)
            );
            told.push(EventKind::Note { text });
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Of 10,000 MiB, so that the reserve is 512 MiB.
    fn memory(left_mib: u64) -> Memory {
        Memory {
            total_bytes: 10_000 * MIB,
            available_bytes: left_mib * MIB,
        }
    }

    #[test]
    fn marks_are_the_reserve_and_its_half() {
        let marks = [
            (512, Pressure::None),
            (511, Pressure::Short),
            (256, Pressure::Short),
            (255, Pressure::Gone),
            (0, Pressure::Gone),
        ];
        for (left_mib, expected) in marks {
            assert_eq!(pressure(&memory(left_mib)), expected, "{left_mib} MiB");
        }
    }

    #[test]
    fn the_ramp_ends_first_then_the_run_each_told_once() {
        let (mut guard, stop) = (Guard::new(), StopFlag::default());
        let mut judge = |left_mib| guard.judge(&memory(left_mib), &stop, 7);
        assert_eq!(judge(2_000), []);
        assert!(!stop.is_closed());
        let told = EventKind::MemoryPressure {
            available_bytes: 500 * MIB,
            users: 7,
        };
        assert_eq!(judge(500), [told]);
        assert!(stop.is_closed() && !stop.is_draining());
        assert_eq!(judge(400), []);
        assert_eq!(judge(3_000), [], "what comes back undoes nothing");
        assert!(matches!(&judge(100)[..], [EventKind::Note { .. }]));
        assert!(stop.is_draining());
        assert_eq!(judge(90), []);
        assert!(guard.has_ended_run());
    }

    #[test]
    fn a_sudden_end_is_told_as_both() {
        let (mut guard, stop) = (Guard::new(), StopFlag::default());
        let told = guard.judge(&memory(0), &stop, 0);
        assert!(matches!(
            &told[..],
            [EventKind::MemoryPressure { .. }, EventKind::Note { .. }]
        ));
        assert!(stop.is_draining());
    }
}
