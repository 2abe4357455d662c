//! The memory guard: ends the ramp, and then the run, before the kernel has to choose a victim.

use std::time::{Duration, Instant};

use driver::real::StopFlag;
use machine::Memory;
use record::schema::EventKind;

/// The interval between two checks of memory.
const EVERY: Duration = Duration::from_secs(1);

/// The pressure on memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pressure {
    /// Not at all.
    None,
    /// The reserve is touched: no user may start.
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

/// Checks memory once a second.
#[derive(Debug)]
pub(super) struct Guard {
    checked: Option<Instant>,
    pressure: Pressure,
}

impl Guard {
    pub(super) fn new() -> Guard {
        Guard { checked: None, pressure: Pressure::None }
    }

    /// Checks memory if it is time to, stops what must be stopped, and returns the events. `users` are
    /// present.
    pub(super) fn poll(&mut self, stop: &StopFlag, users: u64) -> Vec<EventKind> {
        #[expect(
            clippy::disallowed_methods,
            reason = "memory runs out by the wall clock, not by the intervals of the loops"
        )]
        let now = Instant::now();
        if self.checked.is_some_and(|at| now.duration_since(at) < EVERY) {
            return Vec::new();
        }
        self.checked = Some(now);
        let Some(memory) = Memory::read() else {
            return Vec::new();
        };
        self.apply(&memory, stop, users)
    }

    /// True if the guard ended the run.
    pub(super) fn has_ended_run(&self) -> bool {
        self.pressure == Pressure::Gone
    }

    /// Pressure only rises: memory that comes back does not undo a ramp that was ended.
    fn apply(&mut self, memory: &Memory, stop: &StopFlag, users: u64) -> Vec<EventKind> {
        let before = self.pressure;
        self.pressure = before.max(pressure(memory));
        let mut events = Vec::new();
        if before < Pressure::Short && self.pressure >= Pressure::Short {
            stop.close_arrivals();
            events
                .push(EventKind::MemoryPressure { available_bytes: memory.available_bytes, users });
        }
        if before < Pressure::Gone && self.pressure == Pressure::Gone {
            stop.drain();
            let text = format!(
                "memory ran out with {} left; the run was stopped",
                units::bytes(memory.available_bytes)
            );
            events.push(EventKind::Note { text });
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A machine of 10,000 MiB, so that the reserve is 512 MiB.
    fn memory(left_mib: u64) -> Memory {
        Memory { total_bytes: 10_000 * MIB, available_bytes: left_mib * MIB }
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
    fn the_ramp_ends_first_then_the_run_with_one_event_each() {
        let mut guard = Guard::new();
        let stop = StopFlag::default();
        let mut apply = |left_mib| guard.apply(&memory(left_mib), &stop, 7);
        assert_eq!(apply(2_000), []);
        assert!(!stop.is_closed());
        let pressure = EventKind::MemoryPressure { available_bytes: 500 * MIB, users: 7 };
        assert_eq!(apply(500), [pressure]);
        assert!(stop.is_closed() && !stop.is_draining());
        assert_eq!(apply(400), []);
        assert_eq!(apply(3_000), [], "memory that comes back undoes nothing");
        assert!(matches!(&apply(100)[..], [EventKind::Note { .. }]));
        assert!(stop.is_draining());
        assert_eq!(apply(90), []);
        assert!(guard.has_ended_run());
    }

    #[test]
    fn a_sudden_shortage_is_both_events() {
        let mut guard = Guard::new();
        let stop = StopFlag::default();
        let events = guard.apply(&memory(0), &stop, 0);
        assert!(matches!(&events[..], [EventKind::MemoryPressure { .. }, EventKind::Note { .. }]));
        assert!(stop.is_draining());
    }
}
