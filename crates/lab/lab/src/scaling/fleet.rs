//! The instances of a group: which are launched, which are ended, and which replace others that have died.
//!
//! An instance that is launched boots for a while, then its process starts, then it is ready. The newest is removed first:
//! the oldest ones, which other services may name, stay. Where instances end by billing, the one is removed first whose paid
//! unit ends first. A free place that has rested longest is used first, so that what has died is not tried again at once if
//! there is another.

/// Between a failure at a place and its next use there.
const PAUSE_NS: u64 = 1_000_000_000;

/// Time before the end of a paid unit in which an instance is ended, besides the time that it may take to end: groups are
/// looked at ten times a second.
const LEAD_NS: u64 = 500_000_000;

/// How instances are paid, where they end by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Billing {
    /// By place: it is paid for in whole units of this length, in nanoseconds; above 0.
    pub units_ns: Vec<u64>,
    /// How long an instance may take to end, in nanoseconds.
    pub drain_ns: u64,
}

impl Billing {
    /// The end of the unit in which an instance is that was launched then.
    fn end_ns(&self, place: usize, launched_ns: u64, now_ns: u64) -> u64 {
        let unit_ns = self.units_ns[place].max(1);
        let begun = now_ns.saturating_sub(launched_ns) / unit_ns + 1;
        launched_ns.saturating_add(begun.saturating_mul(unit_ns))
    }

    /// Whether an instance has to end now, so that the next unit is not paid.
    fn is_due(&self, place: usize, launched_ns: u64, now_ns: u64) -> bool {
        let lead_ns = self.drain_ns.saturating_add(LEAD_NS);
        self.end_ns(place, launched_ns, now_ns) - now_ns <= lead_ns
    }
}

/// The places of a group, each for one instance.
#[derive(Debug, Clone)]
pub struct Fleet {
    places: Vec<Slot>,
    launches: u64,
    /// Instances are launched without booting, until there are as many as there should be.
    is_hurried: bool,
    /// `None`: instances end at once.
    billing: Option<Billing>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    state: State,
    /// The number of its latest launch; the newest has the greatest.
    launched: u64,
    /// When that was.
    launched_ns: u64,
    /// The place is not used before this time.
    not_before_ns: u64,
}

/// State of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is nothing at the place.
    Free,
    /// A machine that boots until then.
    Booting(u64),
    /// A process that is not ready yet.
    Starting,
    /// An instance runs.
    Running,
    /// An instance that is being ended.
    Ending,
}

/// A step to take at a place, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A machine is launched: from now on it is paid for.
    Launch(usize),
    /// The process of the instance is started.
    Start(usize),
    /// The instance is ended.
    End(usize),
    /// A machine that still boots is given up.
    Cancel(usize),
}

impl Fleet {
    /// This number of places; nothing is at any of them.
    pub fn new(places: usize) -> Fleet {
        let place = Slot { state: State::Free, launched: 0, launched_ns: 0, not_before_ns: 0 };
        Fleet { places: vec![place; places], launches: 0, is_hurried: false, billing: None }
    }

    /// From now on instances end by how they are paid; `None`: at once.
    pub fn end_by(&mut self, billing: Option<Billing>) {
        self.billing = billing;
    }

    /// Bills the instances that are there as if they had been launched now.
    pub fn restart_billing(&mut self, now_ns: u64) {
        self.places.iter_mut().for_each(|place| place.launched_ns = now_ns);
    }

    /// State of a place.
    pub fn state(&self, place: usize) -> State {
        self.places[place].state
    }

    /// How many places are in this state.
    pub fn count(&self, is: impl Fn(State) -> bool) -> u32 {
        let found = self.places.iter().filter(|place| is(place.state));
        u32::try_from(found.count()).unwrap_or(u32::MAX)
    }

    /// Instances that are there or on their way.
    fn present(&self) -> u32 {
        self.count(|state| !matches!(state, State::Free | State::Ending))
    }

    /// Whether instances are being launched or ended, or are to be.
    pub fn is_working(&self, desired: u32) -> bool {
        let running = self.count(|state| state == State::Running);
        let keeps = self.billing.is_some() && !self.is_hurried;
        // What is kept until its unit ends is nothing that goes on.
        let is_there = running == desired || (keeps && running > desired);
        !is_there || self.count(|state| state == State::Ending) > 0
    }

    /// An instance runs at this place already.
    pub fn adopt(&mut self, place: usize, now_ns: u64) {
        self.launch(place, State::Running, now_ns);
    }

    /// Launches without booting until there are as many as there should be.
    pub fn hurry(&mut self) {
        self.is_hurried = true;
        for place in &mut self.places {
            place.not_before_ns = 0;
            if let State::Booting(_) = place.state {
                place.state = State::Booting(0);
            }
        }
    }

    fn launch(&mut self, place: usize, state: State, now_ns: u64) {
        self.launches += 1;
        self.places[place].launched_ns = now_ns;
        self.places[place].launched = self.launches;
        self.places[place].state = state;
    }

    /// The steps to take now; they count as begun.
    pub fn steps(&mut self, desired: u32, start_up_ns: u64, now_ns: u64) -> Vec<Step> {
        let mut steps = Vec::new();
        for place in self.removable(desired, now_ns) {
            match self.places[place].state {
                State::Booting(_) => {
                    self.places[place].state = State::Free;
                    steps.push(Step::Cancel(place));
                }
                State::Running => {
                    self.places[place].state = State::Ending;
                    steps.push(Step::End(place));
                }
                // It is ended once it runs.
                State::Starting | State::Free | State::Ending => {}
            }
        }
        while self.present() < desired
            && let Some(place) = self.rested(now_ns)
        {
            let boots_ns = if self.is_hurried { 0 } else { start_up_ns };
            self.launch(place, State::Booting(now_ns.saturating_add(boots_ns)), now_ns);
            steps.push(Step::Launch(place));
        }
        for (number, place) in self.places.iter_mut().enumerate() {
            if matches!(place.state, State::Booting(until_ns) if until_ns <= now_ns) {
                place.state = State::Starting;
                steps.push(Step::Start(number));
            }
        }
        self.is_hurried &= self.is_working(desired);
        steps
    }

    /// The instances beyond this number that end now. By billing, as many run as there should be: one that boots is paid for
    /// and serves nobody yet.
    fn removable(&self, desired: u32, now_ns: u64) -> Vec<usize> {
        let Some(billing) = self.billing.as_ref().filter(|_| !self.is_hurried) else {
            return self.newest(self.present().saturating_sub(desired));
        };
        let all = self.places.iter().enumerate();
        let running = all.filter(|(_, place)| place.state == State::Running);
        let end_ns = |at: usize, place: &Slot| billing.end_ns(at, place.launched_ns, now_ns);
        let mut running: Vec<(u64, usize)> =
            running.map(|(at, place)| (end_ns(at, place), at)).collect();
        running.sort_unstable();
        let surplus = running.len().saturating_sub(desired as usize);
        let first = running.into_iter().take(surplus).map(|(_, place)| place);
        let is_due =
            |place: &usize| billing.is_due(*place, self.places[*place].launched_ns, now_ns);
        first.filter(is_due).collect()
    }

    /// The newest of those that are there or on their way.
    fn newest(&self, count: u32) -> Vec<usize> {
        let all = self.places.iter().enumerate();
        let present = all.filter(|(_, p)| !matches!(p.state, State::Free | State::Ending));
        let mut present: Vec<(u64, usize)> = present.map(|(at, p)| (p.launched, at)).collect();
        present.sort_by(|a, b| b.cmp(a));
        let newest = present.into_iter().take(count as usize);
        newest.map(|(_, place)| place).collect()
    }

    /// The free place that has rested longest; of equal ones the first.
    fn rested(&self, now_ns: u64) -> Option<usize> {
        let all = self.places.iter().enumerate();
        let free = all.filter(|(_, p)| p.state == State::Free && p.not_before_ns <= now_ns);
        let first = free.min_by_key(|(_, place)| place.launched);
        first.map(|(number, _)| number)
    }

    /// The process that was started is ready.
    pub fn started(&mut self, place: usize) {
        self.places[place].state = State::Running;
    }

    /// It did not get ready, or its instance has died: the place is free again after a moment.
    pub fn failed(&mut self, place: usize, now_ns: u64) {
        self.places[place].state = State::Free;
        self.places[place].not_before_ns = now_ns.saturating_add(PAUSE_NS);
    }

    /// The instance has ended as it should.
    pub fn ended(&mut self, place: usize) {
        self.places[place].state = State::Free;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, proptest};

    use super::*;

    /// The minute of the only one that serves is nearly over while two more boot that are not wanted any more.
    #[test]
    fn what_boots_takes_the_place_of_what_is_paid_for_only_once_it_runs() {
        const SECOND: u64 = 1_000_000_000;
        let mut fleet = Fleet::new(3);
        fleet.end_by(Some(Billing { units_ns: vec![60 * SECOND; 3], drain_ns: 2 * SECOND }));
        fleet.adopt(0, 0);
        let boots_ns = 30 * SECOND;
        let launched = [Step::Launch(1), Step::Launch(2)];
        assert_eq!(fleet.steps(3, boots_ns, 40 * SECOND), launched);
        assert_eq!(fleet.steps(1, boots_ns, 58 * SECOND), []);
        assert_eq!(fleet.steps(1, boots_ns, 70 * SECOND), [Step::Start(1), Step::Start(2)]);
        fleet.started(1);
        fleet.started(2);
        // Launched at 40 s, their minutes end at 100 s; the first one's, which goes on, at 120 s.
        assert_eq!(fleet.steps(1, boots_ns, 98 * SECOND), [Step::End(1), Step::End(2)]);
    }

    /// Paid by the minute: an instance that is not wanted any more serves until its minute is nearly over, and is there
    /// if it is wanted again.
    #[test]
    fn instances_end_before_the_next_unit_is_paid() {
        const SECOND: u64 = 1_000_000_000;
        let mut fleet = Fleet::new(2);
        let billing = Billing { units_ns: vec![60 * SECOND; 2], drain_ns: 2 * SECOND };
        fleet.end_by(Some(billing));
        fleet.adopt(0, 0);
        assert_eq!(fleet.steps(2, 0, 10 * SECOND), [Step::Launch(1), Step::Start(1)]);
        fleet.started(1);
        // At 20 s one is too many: the first one's minute ends at 60 s.
        assert_eq!(fleet.steps(1, 0, 20 * SECOND), []);
        assert!(!fleet.is_working(1));
        assert_eq!(fleet.steps(1, 0, 57 * SECOND), []);
        // Wanted again, nothing is launched.
        assert_eq!(fleet.steps(2, 0, 57 * SECOND), []);
        assert_eq!(fleet.steps(1, 0, 58 * SECOND), [Step::End(0)]);
        fleet.ended(0);
        // The other one, launched at 10 s, stays although its minute ends.
        assert_eq!(fleet.steps(1, 0, 69 * SECOND), []);
        // Before a run nothing is kept.
        assert_eq!(fleet.steps(2, 0, 80 * SECOND), [Step::Launch(0), Step::Start(0)]);
        fleet.started(0);
        fleet.hurry();
        assert_eq!(fleet.steps(1, 0, 81 * SECOND), [Step::End(0)]);
    }

    #[test]
    fn instances_boot_then_start_and_the_newest_is_removed_first() {
        let mut fleet = Fleet::new(3);
        fleet.adopt(0, 0);
        assert_eq!(fleet.steps(3, 60, 5), [Step::Launch(1), Step::Launch(2)]);
        assert_eq!(fleet.steps(3, 60, 64), []);
        assert_eq!(fleet.steps(3, 60, 65), [Step::Start(1), Step::Start(2)]);
        assert!(fleet.is_working(3));
        fleet.started(1);
        // The newest is still starting: it is ended once it runs.
        assert_eq!(fleet.steps(2, 60, 70), []);
        fleet.started(2);
        assert_eq!(fleet.steps(2, 60, 71), [Step::End(2)]);
        assert!(fleet.is_working(2));
        fleet.ended(2);
        assert!(!fleet.is_working(2));
    }

    #[test]
    fn one_that_still_boots_is_given_up() {
        let mut fleet = Fleet::new(2);
        assert_eq!(fleet.steps(1, 60, 0), [Step::Launch(0)]);
        assert_eq!(fleet.steps(0, 60, 1), [Step::Cancel(0)]);
        assert_eq!(fleet.state(0), State::Free);
    }

    #[test]
    fn what_has_died_is_replaced_elsewhere_or_after_a_moment() {
        let mut fleet = Fleet::new(2);
        fleet.adopt(0, 0);
        fleet.failed(0, 10);
        assert_eq!(fleet.steps(1, 0, 10), [Step::Launch(1), Step::Start(1)]);
        fleet.failed(1, 20);
        // The other one has rested longer.
        assert_eq!(fleet.steps(1, 0, 20 + PAUSE_NS), [Step::Launch(0), Step::Start(0)]);
        let mut single = Fleet::new(1);
        single.adopt(0, 0);
        single.failed(0, 10);
        assert_eq!(single.steps(1, 0, 11), []);
        assert_eq!(single.steps(1, 0, 10 + PAUSE_NS), [Step::Launch(0), Step::Start(0)]);
    }

    #[test]
    fn in_a_hurry_nothing_boots() {
        let mut fleet = Fleet::new(2);
        assert_eq!(fleet.steps(1, 60, 0), [Step::Launch(0)]);
        fleet.hurry();
        let steps = fleet.steps(2, 60, 1);
        assert_eq!(steps, [Step::Launch(1), Step::Start(0), Step::Start(1)]);
        fleet.started(0);
        fleet.started(1);
        assert_eq!(fleet.steps(2, 60, 2), []);
        fleet.failed(1, 2);
        // From here on machines boot again.
        assert_eq!(fleet.steps(2, 60, 2 + PAUSE_NS), [Step::Launch(1)]);
        assert_eq!(fleet.steps(2, 60, 3 + PAUSE_NS), []);
    }

    proptest! {
        /// Whatever is desired and whatever dies: no more are on their way than there should be, each step fits what was
        /// there, and once nothing changes there are as many as there should be.
        #[test]
        fn a_fleet_gets_to_what_is_desired(
            turns in prop::collection::vec((0..5u32, 0..4usize, 0..8u8), 1..60),
            last in 0..5u32,
        ) {
            let mut fleet = Fleet::new(4);
            let mut now_ns = 0;
            let quiet = [(last, 0, 0)].into_iter().cycle().take(20);
            for (desired, place, chance) in turns.into_iter().chain(quiet) {
                now_ns += PAUSE_NS;
                for step in fleet.steps(desired, PAUSE_NS, now_ns) {
                    match step {
                        Step::Launch(at) => assert!(matches!(fleet.state(at), State::Booting(_) | State::Starting)),
                        Step::Start(at) => assert_eq!(fleet.state(at), State::Starting),
                        Step::End(at) => assert_eq!(fleet.state(at), State::Ending),
                        Step::Cancel(at) => assert_ne!(fleet.state(at), State::Running),
                    }
                }
                let starting = fleet.count(|state| state == State::Starting);
                assert!(fleet.present() <= desired.max(starting));
                for at in 0..4 {
                    match fleet.state(at) {
                        State::Starting if chance == 7 && at == place => fleet.failed(at, now_ns),
                        State::Starting => fleet.started(at),
                        State::Ending => fleet.ended(at),
                        State::Running if chance == 6 && at == place => fleet.failed(at, now_ns),
                        State::Running | State::Free | State::Booting(_) => {}
                    }
                }
            }
            assert_eq!(fleet.count(|state| state == State::Running), last);
            assert!(!fleet.is_working(last));
        }
    }
}
