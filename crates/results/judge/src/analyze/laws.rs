//! Laws that hold for every queue, whatever its distributions, compared with the run's own counts:
//! Denning and Buzen, "The operational analysis of queueing network models" (1978); Little (1961).
//! If one does not hold, the record and the clock disagree, or the run was not in balance.

use std::ops::Range;

use record::schema::PhaseInfo;
use serde::Serialize;
use stats::mean::SeriesMean;

use super::seconds::{Rows, Seconds, Slot};

/// A law does not hold if it is off by more than this share …
const DEVIATION_MAX: f64 = 0.05;
/// … and by more than this many standard errors of the gauge …
const SIGMAS: f64 = 3.0;
/// … and by more than one, the grain of the gauge, which counts whole operations once a second.
const GRAIN: f64 = 1.0;
/// Greatest tolerance, as a share, with which a law is testable.
const TOLERANCE_MAX: f64 = 0.25;
/// Least number of operations with which a law is testable.
const OPERATIONS_MIN: u64 = 100;
/// Greatest share of operations sent while another of their user is in flight; with more, the time between two
/// operations is no pause.
const OVERLAPPING_MAX: f64 = 0.01;
/// Least share of the users' time that must be known to test the response time law.
const KNOWN_MIN: f64 = 0.8;

/// The laws, over requests and handshakes after the warm-up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Laws {
    /// Little's law; `None`: the record has no single operations, or none ended.
    pub little: Option<Little>,
    /// The response time law; `None` also if rows were sampled: then pauses are not known.
    pub response: Option<ResponseLaw>,
    /// Utilisation of the generator; the target's is not in the record.
    pub utilisation: Option<Utilisation>,
}

/// Little's law: N = X · R.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Little {
    /// N: mean of the gauge of operations in flight.
    pub in_flight: f64,
    /// X: operations that ended, well or not, by second.
    pub per_s: f64,
    /// R: their mean time in flight, done − sent.
    pub service_ns: f64,
    /// X · R.
    pub product: f64,
    /// X · R over N, less one.
    pub deviation: f64,
    /// Whether the two sides agree.
    pub test: LawTest,
}

/// Whether the two sides of a law agree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LawTest {
    /// How far the sides may differ, as a share of the gauge: what its grain, its scatter and the operations in
    /// flight at both ends explain.
    pub tolerance: f64,
    /// `None`: the law is not testable.
    pub holds: Option<bool>,
    /// The reason why the law is not testable.
    pub problem: Option<String>,
}

/// The interactive response time law: R = N/X − Z.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResponseLaw {
    /// N: mean of the gauge of users.
    pub users: f64,
    /// X: operations that ended, by second.
    pub per_s: f64,
    /// Z: mean pause of a user from an operation's end to the next one's beginning, by operation.
    pub think_ns: f64,
    /// N/X − Z.
    pub law_ns: f64,
    /// R as measured: mean of done − sent.
    pub service_ns: f64,
    /// The share of the users' time spent in operations and the pauses between them; the rest is
    /// before a user's first operation or after its last.
    pub known: f64,
    /// Whether the two sides agree.
    pub test: LawTest,
}

/// The utilisation law, U = X · D, of the generator's loops.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Utilisation {
    /// U: cores in use, of those it had.
    pub cores: f64,
    /// Cores it had.
    pub of: u32,
    /// D: CPU time by operation.
    pub demand_ns: f64,
    /// Operations a second at which those cores would be used up: cores/D.
    pub per_s_max: f64,
}

pub(super) fn laws(seconds: &Seconds, kept: Range<usize>) -> Laws {
    let slots = &seconds.slots[kept];
    let time_s: f64 = slots.iter().map(Slot::seconds).sum();
    let sum = |of: fn(&Slot) -> u64| slots.iter().map(of).sum::<u64>() as f64;
    let ended = ended(slots) as f64;
    if seconds.rows == Rows::Missing || ended == 0.0 || time_s <= 0.0 {
        return Laws { little: None, response: None, utilisation: None };
    }
    let ramp = ramp(seconds, slots);
    let per_s = ended / time_s;
    let service_ns = sum(|slot| slot.service_ns) / ended;
    let cpu_s = sum(|slot| slot.row.cpu_loops_ns) / 1e9;
    let of = seconds.info.generator.cores;
    Laws {
        little: little(slots, per_s, service_ns)
            .map(|law| Little { test: law.test.unless(ramp), ..law }),
        response: (seconds.rows == Rows::All)
            .then(|| {
                let known_s = (sum(|slot| slot.busy_ns) + sum(|slot| slot.pause_ns)) / 1e9;
                let think_ns = sum(|slot| slot.pause_ns) / ended;
                response(slots, per_s, service_ns, think_ns, known_s / time_s)
            })
            .flatten()
            .map(|law| ResponseLaw {
                test: law.test.unless(ramp).unless_at_once(seconds.overlapping as f64 / ended),
                ..law
            }),
        utilisation: (cpu_s > 0.0).then(|| Utilisation {
            cores: cpu_s / time_s,
            of,
            demand_ns: cpu_s * 1e9 / ended,
            per_s_max: f64::from(of) * ended / cpu_s,
        }),
    }
}

/// The first phase within this time in which a closed population rises or falls.
fn ramp<'s>(seconds: &'s Seconds, slots: &[Slot]) -> Option<&'s str> {
    let start_ns = slots.first()?.row.start_ns;
    let end_ns = slots.last()?.row.end_ns;
    let mut phases = seconds.info.phases.iter();
    let within = |phase: &&PhaseInfo| phase.start_ns < end_ns && start_ns < phase.end_ns;
    let rises = |phase: &&PhaseInfo| phase.kind == "closed-ramp" || phase.users_vary;
    let found = phases.find(|phase| rises(phase) && within(phase));
    found.map(|phase| phase.name.as_str())
}

impl LawTest {
    /// Both sides are means over a time without balance if the population is no fixed one in it.
    fn unless(self, ramp: Option<&str>) -> LawTest {
        let Some(phase) = ramp else {
            return self;
        };
        LawTest {
            holds: None,
            problem: Some(format!(
                "the number of users changes in phase {phase}; a phase with a fixed number is testable (--phase)"
            )),
            ..self
        }
    }

    /// A user's time consists of operations and pauses if it does one after the other.
    fn unless_at_once(self, share: f64) -> LawTest {
        if share <= OVERLAPPING_MAX {
            return self;
        }
        let problem = "users have several operations in flight at the same time".to_owned();
        LawTest { holds: None, problem: Some(problem), ..self }
    }
}

fn gauge(slots: &[Slot], of: fn(&Slot) -> u64) -> Option<SeriesMean> {
    let values: Vec<f64> = slots.iter().map(|slot| of(slot) as f64).collect();
    SeriesMean::compute(&values)
}

/// Error by operations that cross an edge of the time, and so are counted in one side of a law only: as many as the
/// gauge shows at both ends, each for `time_ns` of the whole.
fn edges(slots: &[Slot], of: fn(&Slot) -> u64, time_ns: f64) -> f64 {
    let ends = slots.first().into_iter().chain(slots.last());
    let crossed: u64 = ends.map(of).sum();
    let length_s: f64 = slots.iter().map(Slot::seconds).sum();
    crossed as f64 * time_ns / 1e9 / length_s
}

/// Compares the mean of a gauge with the figure that should equal it.
fn compare(gauge: &SeriesMean, other: f64, edges: f64, operations: u64) -> LawTest {
    let allowed =
        (DEVIATION_MAX * gauge.mean.abs()).max(SIGMAS * gauge.error).max(GRAIN).max(edges);
    let tolerance = allowed / gauge.mean.abs().max(f64::MIN_POSITIVE);
    let problem = if operations < OPERATIONS_MIN {
        Some(format!(
            "{} ended, and it takes {OPERATIONS_MIN}",
            units::counted(operations, "operation")
        ))
    } else if tolerance > TOLERANCE_MAX {
        Some(format!(
            "a mean of {} is known to {} only",
            units::significant(gauge.mean, 3),
            units::significant(allowed, 3)
        ))
    } else {
        None
    };
    LawTest {
        tolerance,
        holds: problem.is_none().then(|| (gauge.mean - other).abs() <= allowed),
        problem,
    }
}

fn little(slots: &[Slot], per_s: f64, service_ns: f64) -> Option<Little> {
    let found = gauge(slots, |slot| slot.row.in_flight)?;
    let product = per_s * service_ns / 1e9;
    let edges = edges(slots, |slot| slot.row.in_flight, service_ns);
    Some(Little {
        in_flight: found.mean,
        per_s,
        service_ns,
        product,
        deviation: if found.mean > 0.0 { product / found.mean - 1.0 } else { 0.0 },
        test: compare(&found, product, edges, ended(slots)),
    })
}

fn ended(slots: &[Slot]) -> u64 {
    slots.iter().map(|slot| slot.ended).sum()
}

/// `known`: users within operations or between two, at once, by rows.
fn response(
    slots: &[Slot],
    per_s: f64,
    service_ns: f64,
    think_ns: f64,
    known: f64,
) -> Option<ResponseLaw> {
    let found = gauge(slots, |slot| slot.row.users)?;
    if found.mean <= 0.0 {
        return None;
    }
    let share = known / found.mean;
    let cycle_ns = service_ns + think_ns;
    let edges = edges(slots, |slot| slot.row.users, cycle_ns);
    let mut test = compare(&found, per_s * cycle_ns / 1e9, edges, ended(slots));
    if share < KNOWN_MIN {
        test.holds = None;
        test.problem = Some(format!(
            "{} of the users' time is before their first operation or after their last",
            units::share(1.0 - share)
        ));
    }
    Some(ResponseLaw {
        users: found.mean,
        per_s,
        think_ns,
        law_ns: found.mean / per_s * 1e9 - think_ns,
        service_ns,
        known: share,
        test,
    })
}
