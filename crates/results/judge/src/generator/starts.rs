//! Users that should have been started and were not.

use record::Outcome;
use record::schema::{PhaseInfo, RunStatus, UsersSummary};

use super::cause::Cause;
use crate::figures::{self, Figures};
use crate::limits::{FILES_IN_FLIGHT_MIN, POISSON_SIGMAS, STARTS_SHARE_MIN};

/// The code of load that a target without answers kept away.
const TARGET_LIMIT: &str = "target-limit";

/// A resource that ran out, for lack of which users and operations were turned away.
pub(crate) struct Shortage {
    pub(crate) code: &'static str,
    pub(crate) what: String,
    pub(crate) fix: String,
    /// Operations that failed for it; where the record does not name the resource, users.
    pub(crate) operations: u64,
}

impl Shortage {
    /// True if it is the generator's, not a target's that held the files.
    pub(super) fn is_generators(&self) -> bool {
        self.code != TARGET_LIMIT
    }
}

/// The shortages of a run, the scarcest resource first. `memory_told`: why memory was wanting is said elsewhere.
pub(super) fn find_shortages(
    figures: &Figures,
    users: &UsersSummary,
    memory_told: bool,
) -> Vec<Shortage> {
    let wanting = |outcome: Outcome| -> u64 {
        let measures = 0..figures.info.measures.len();
        measures.map(|measure| figures.cell(None, measure).outcome(outcome)).sum()
    };
    let limits = Outcome::ALL.iter().copied().filter(|o| o.is_generator_limit());
    let mut by_kind: Vec<_> = limits.map(|o| (wanting(o), Some(o))).filter(|w| w.0 > 0).collect();
    by_kind.sort_by_key(|&(n, _)| std::cmp::Reverse(n));
    if by_kind.is_empty() && users.refused > 0 {
        by_kind.push((users.refused, None));
    }
    let by_kind = by_kind
        .into_iter()
        .filter(|&(_, outcome)| !(memory_told && outcome == Some(Outcome::NoMemory)));
    by_kind.map(|(n, outcome)| shortage(figures, users, n, outcome)).collect()
}

fn shortage(
    figures: &Figures,
    users: &UsersSummary,
    operations: u64,
    outcome: Option<Outcome>,
) -> Shortage {
    // All users who were there or wanted to be.
    // A user who is refused may have failed at several operations, such as connect and handshake.
    let refused = match users.refused {
        0 => operations,
        refused => refused,
    };
    let wanted = users.peak + refused;
    let generator = &figures.info.generator;
    match outcome {
        Some(Outcome::NoFiles) if files_hold_unanswered(figures) => Shortage {
            operations,
            code: TARGET_LIMIT,
            what: format!(
                "the target did not respond, and operations in flight used all {} open files",
                units::count(open_files(figures))
            ),
            fix: "reduce the load, or raise the capacity of the target".to_owned(),
        },
        Some(Outcome::NoFiles) => Shortage {
            operations,
            code: "generator-files",
            what: format!(
                "the open-file limit was reached ({} with {} each)",
                units::counted(u64::from(generator.loops), "loop"),
                units::count(generator.files_per_loop)
            ),
            fix: more_files(generator.files_per_loop, generator.loops, wanted),
        },
        Some(Outcome::NoPorts) => Shortage {
            operations,
            code: "generator-ports",
            what: "source ports ran out".to_owned(),
            fix: "`sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"`, or more addresses in \
                   `options.source_addresses`"
                .to_owned(),
        },
        Some(Outcome::NoMemory) => Shortage {
            operations,
            code: "generator-memory",
            what: format!(
                "memory ran out, either the generator's, its part for saved values and buffers, or the kernel's \
                 socket memory ({} resident)",
                units::bytes(figures.peak(|row| row.rss_bytes))
            ),
            fix: "free memory, save less or lower `options.response_max`, or raise the kernel's socket memory, \
                  `sysctl net.ipv4.tcp_mem` (`throng doctor` shows the value)"
                .to_owned(),
        },
        _ => Shortage {
            operations,
            code: "generator-refused",
            what: "files, ports or memory ran out".to_owned(),
            fix: "`throng doctor` shows the limits and how to raise them".to_owned(),
        },
    }
}

/// Open files of all loops together.
pub(crate) fn open_files(figures: &Figures) -> u64 {
    let generator = &figures.info.generator;
    generator.files_per_loop.saturating_mul(u64::from(generator.loops))
}

/// The ways to more open files: more loops, which each have their own, or more for each.
fn more_files(files_per_loop: u64, loops: u32, wanted: u64) -> String {
    // Some files are the loop's own: its poll, timer, pipes, the record.
    let spare = |files: u64| files + files / 20 + 64;
    let loops_wanted = spare(wanted).div_ceil(files_per_loop.max(1)).max(u64::from(loops) + 1);
    let each = spare(wanted.div_ceil(u64::from(loops.max(1))).max(files_per_loop));
    format!("`--set options.loops={loops_wanted}`, or `ulimit -n {each}` before the run")
}

/// True where the open files were held by operations that waited for their answers.
fn files_hold_unanswered(figures: &Figures) -> bool {
    let in_flight = figures.peak(|row| row.in_flight) as f64;
    in_flight > 0.0 && in_flight >= FILES_IN_FLIGHT_MIN * open_files(figures) as f64
}

/// Starts of one phase, or of several together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Starts {
    /// Planned starts, for the text.
    pub(crate) planned: f64,
    /// Starts that the rule requires.
    due: f64,
    pub(crate) started: u64,
    refused: u64,
}

impl Starts {
    fn of(figures: &Figures, number: usize, phase: &PhaseInfo) -> Starts {
        let sum = |counter: fn(&record::schema::SeriesRow) -> u64| -> u64 {
            figures.rows(number).map(counter).sum()
        };
        // Users whom lost workers would have started are reported elsewhere.
        let due = sum(|row| row.users_due.saturating_sub(row.users_repeated)) as f64;
        // So are users who were due in a pause.
        let counted: f64 = figures.rows(number).map(|row| figures.due_of_rest(row)).sum();
        // What a run that a figure ended kept from starting is no delay of the generator's.
        let kept_away = match figures.info.status {
            RunStatus::Aborted | RunStatus::Until => sum(|row| row.users_unstarted) as f64,
            _ => 0.0,
        };
        let counted = (counted - kept_away).max(0.0);
        let rest = if due > 0.0 { counted / due } else { 1.0 };
        let refused = sum(|row| row.users_refused);
        let started = figures::users_begun(figures.rows(number)).saturating_sub(refused);
        // If a run was cut short, only the engine knows how many were due: operations in flight may have lasted until
        // after the phase.
        let whole = figures.info.status == RunStatus::Complete;
        let planned = if whole { phase.users_planned * rest } else { 0.0 };
        let planned = counted.max(planned);
        Starts {
            planned,
            due: match phase.kind.as_str() {
                "poisson" => planned - POISSON_SIGMAS * planned.sqrt(),
                _ => planned,
            },
            // More than all of a closed phase makes up for nothing.
            started: match phase.kind.as_str() {
                "closed" | "closed-ramp" => started.min(planned as u64),
                _ => started,
            },
            refused,
        }
    }

    /// Negative where starts that an earlier phase owed were made up for.
    fn missing(&self) -> f64 {
        self.due - self.started as f64 - self.refused as f64
    }
}

/// Fewer starts than planned for another reason than a refusal.
pub(crate) struct MissedStarts {
    /// The phase that missed most, by number.
    pub(crate) phase: usize,
    /// The starts of that phase.
    pub(crate) starts: Starts,
    /// Other phases had starts as well.
    pub(crate) is_one_of_several: bool,
    /// `None`: the target did not respond, and held all open files.
    pub(crate) cause: Option<Cause>,
}

impl MissedStarts {
    pub(super) fn find(figures: &Figures) -> Option<MissedStarts> {
        let phases = figures.info.phases.iter().enumerate();
        let starts: Vec<(usize, Starts)> =
            phases.map(|(number, phase)| (number, Starts::of(figures, number, phase))).collect();
        let missing: f64 = starts.iter().map(|(_, s)| s.missing()).sum();
        let due: f64 = starts.iter().map(|(_, s)| s.due).sum();
        if missing <= (1.0 - STARTS_SHARE_MIN) * due {
            return None;
        }
        let (phase, worst) =
            starts.iter().copied().max_by(|a, b| a.1.missing().total_cmp(&b.1.missing()))?;
        let cause = match files_hold_unanswered(figures) {
            true => None,
            false => Some(Cause::of(figures)),
        };
        Some(MissedStarts {
            phase,
            starts: worst,
            is_one_of_several: starts.iter().filter(|(_, s)| s.planned > 0.0).count() > 1,
            cause,
        })
    }

    /// The code of their finding.
    pub(crate) fn code(&self) -> &'static str {
        self.cause.as_ref().map_or(TARGET_LIMIT, Cause::code)
    }
}
