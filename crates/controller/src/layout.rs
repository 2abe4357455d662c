//! How many loops a run gets, and how they wait.

use engine::driver::real::{OPEN_FILES_RESERVED, Waiting};
use scenario::Plan;
use scenario::plan::{HttpConnections, Mode, Op, PhaseKind, Session};

/// Most loops of a run; 20,000 files each make ten million connections.
pub const LOOPS_MAX: u64 = 512;
/// A loop is given at most this share of the connections it may have.
const FILL: f64 = 0.95;
/// What a request and its answer are taken to need where nothing is known of the target.
const EXCHANGE_S: f64 = 0.05;

/// The loops of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    pub waiting: Waiting,
    pub loops_count: u32,
    /// How many users are expected at once.
    pub users_max: u64,
}

/// Chooses the loops for `plan` on a machine with so many cores, where a loop may have
/// `files_max` open files. Each of `workers_count` processes gets one at least; 0: the loops run in
/// this one.
pub fn layout(plan: &Plan, cores: u32, files_max: u64, workers_count: u32) -> Layout {
    let users_max = users_at_once(plan).ceil() as u64;
    let room = (files_max.saturating_sub(OPEN_FILES_RESERVED) as f64 * FILL).max(1.0) as u64;
    let wanted = users_max.div_ceil(room).clamp(1, LOOPS_MAX) as u32;
    let wanted = wanted.max(workers_count);
    let asked = plan.options.loops_count;
    let waiting = match plan.options.mode {
        Mode::Precise => Waiting::Precise,
        Mode::Wide => Waiting::Wide,
        Mode::Auto if wanted <= cores => Waiting::Precise,
        Mode::Auto => Waiting::Wide,
    };
    let loops_count = asked.unwrap_or(match waiting {
        Waiting::Precise => cores,
        Waiting::Wide => wanted.max(cores),
    });
    Layout {
        waiting,
        loops_count: loops_count.max(workers_count).max(1),
        users_max,
    }
}

/// An estimate of how many connections are open at once: arrivals times how long a session lasts
/// (Little 1961), at most all of them.
fn users_at_once(plan: &Plan) -> f64 {
    let stay_s = plan
        .sessions
        .iter()
        .map(|s| stay(s, plan))
        .fold(0.0, f64::max);
    let mut total = 0.0;
    let mut rate_max = 0.0_f64;
    let mut closed = 0.0_f64;
    for phase in &plan.phases {
        match phase.kind {
            PhaseKind::Closed { users_count } => closed = closed.max(users_count as f64),
            PhaseKind::Hold => {}
            PhaseKind::Rate {
                from_per_s,
                to_per_s,
                ..
            } => {
                total += phase.users_planned();
                rate_max = rate_max.max(from_per_s).max(to_per_s);
            }
        }
    }
    closed + total.min(rate_max * stay_s)
}

/// How long one session is taken to last, in seconds; without bound where it has a loop.
fn stay(session: &Session, plan: &Plan) -> f64 {
    let loops = session.ops.iter().enumerate().any(|(pc, op)| match op {
        Op::LoopStart { .. } => true,
        Op::Jump(to) => (*to as usize) <= pc,
        _ => false,
    });
    if loops {
        return f64::INFINITY;
    }
    let idle_s: f64 = session
        .ops
        .iter()
        .map(|op| match op {
            Op::Think(dist) => dist.mean().max(0.0),
            _ => 0.0,
        })
        .sum();
    let holds = session.ops.iter().any(|op| matches!(op, Op::WsOpen(_)));
    let shared = plan.options.http_connections == HttpConnections::Shared && !holds;
    let exchanges = session.ops.iter().filter(|op| {
        matches!(
            op,
            Op::Http(_) | Op::WsOpen(_) | Op::WsSend(_) | Op::WsExpect(_)
        )
    });
    // Users that share connections hold none while they think.
    exchanges.count() as f64 * EXCHANGE_S + if shared { 0.0 } else { idle_s }
}
