//! The number of loops of a run, and their way of waiting.

use driver::real::WaitMode;
use machine::loops::{LOOPS_MAX, connections_per_loop};
use plan::Plan;
use plan::expr::{Expr, Value};
use plan::{HttpConnections, HttpVersion, Mode, Op, Phase, PhaseKind, Session, Visits};

/// The assumed time of a request if nothing is known of the target.
const EXCHANGE_S: f64 = 0.05;

/// The loops of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    /// The way in which loops wait for what is due next.
    pub waiting: WaitMode,
    /// Loops of the run, those of all workers.
    pub loops_count: u32,
    /// The number of users that are expected at once.
    pub users_max: u64,
}

/// Chooses the loops for `plan` on a machine with `cores`, if a loop may have
/// `files_max` open files. Each of `workers_count` processes gets one at least (0: the loops run in
/// this one), and so does each region.
pub fn layout(plan: &Plan, cores: u32, files_max: u64, workers_count: u32) -> Layout {
    let users_max = users_at_once(plan).ceil() as u64;
    let wanted = users_max.div_ceil(connections_per_loop(files_max)).clamp(1, LOOPS_MAX) as u32;
    let least = workers_count.max(plan.regions.len() as u32);
    let wanted = wanted.max(least);
    let requested = plan.options.loops_count;
    let waiting = match plan.options.mode {
        Mode::Precise => WaitMode::Precise,
        Mode::Wide => WaitMode::Wide,
        Mode::Auto if wanted <= cores => WaitMode::Precise,
        Mode::Auto => WaitMode::Wide,
    };
    let loops_count = requested.unwrap_or(match waiting {
        WaitMode::Precise => cores,
        WaitMode::Wide => wanted.max(cores),
    });
    Layout { waiting, loops_count: loops_count.max(least).max(1), users_max }
}

/// An estimate of how many connections are open at once: arrivals times how long a session lasts
/// (Little 1961), at most all of them.
fn users_at_once(plan: &Plan) -> f64 {
    let stay_s = plan.sessions.iter().map(|s| stay(s, plan)).fold(0.0, f64::max);
    let present: f64 = plan.arrivals().map(|phases| users_of(phases, stay_s)).sum();
    let users = present + plan.singles.len() as f64;
    let each = plan.sessions.iter().map(|s| connections_max(s, plan)).max();
    users * f64::from(each.unwrap_or(1))
}

/// An estimate of how many users of a population are present at once, if a session lasts this long.
fn users_of(phases: &[Phase], stay_s: f64) -> f64 {
    let mut total = 0.0;
    let mut rate_max = 0.0_f64;
    let mut closed = 0.0_f64;
    for phase in phases {
        if let PhaseKind::Closed(population) = phase.kind {
            closed = closed.max(population.most() as f64);
        }
        if phase.is_open() {
            total += phase.users_planned();
            rate_max = rate_max.max(phase.rate_max_per_s());
        }
    }
    closed + total.min(rate_max * stay_s)
}

/// The number of connections that a user has to its target at once: more than one for its branches over HTTP/1.1.
fn connections_max(session: &Session, plan: &Plan) -> u32 {
    let branches = session.ops.iter().map(|op| match op {
        Op::Parallel(parallel) => parallel.branches.len() as u32,
        _ => 1,
    });
    let branches = branches.max().unwrap_or(1);
    match plan.options.http {
        HttpVersion::Http2 => 1,
        HttpVersion::Http1 | HttpVersion::Auto => branches.min(plan.options.connections_max),
    }
}

/// The assumed length of a session, in seconds; infinite if it has a loop whose
/// rounds are not known.
fn stay(session: &Session, plan: &Plan) -> f64 {
    // The number of times that the instruction at hand is done, and that number before each loop around it.
    let mut rounds = 1.0;
    let mut around = Vec::new();
    let mut idle_s = 0.0;
    let mut exchanges = 0.0;
    for (pc, op) in session.ops.iter().enumerate() {
        let chains = session.visits.iter();
        let mut chains = chains.filter(|part| part.instructions.contains(&(pc as u32)));
        let visits: f64 = chains.clone().map(|part| part.expected).product();
        if visits == f64::INFINITY {
            return f64::INFINITY;
        }
        match op {
            Op::LoopStart { times: Expr::Const(Value::Int(times)), .. } => {
                around.push(rounds);
                rounds *= *times as f64;
            }
            Op::LoopStart { .. } => return f64::INFINITY,
            Op::LoopEnd { .. } => rounds = around.pop().unwrap_or(1.0),
            // A jump back is an endless loop, unless it ends a transition of a chain.
            Op::Jump(to) if (*to as usize) <= pc && !chains.any(|part| ends_at(part, pc)) => {
                return f64::INFINITY;
            }
            Op::Think(dist) | Op::Pace { every: dist, .. } => {
                idle_s += rounds * visits * dist.mean().max(0.0);
            }
            op if op.is_exchange() => exchanges += rounds * visits,
            Op::Meet(op) if op.timeout_ns() > 0 => return f64::INFINITY,
            // The length of a restarted session or of a wait by expression is not known.
            Op::Restart { .. } | Op::ThinkFor(_) => return f64::INFINITY,
            _ => {}
        }
    }
    let holds = session.ops.iter().any(Op::stays_open);
    let shared = plan.options.http_connections == HttpConnections::Shared && !holds;
    // Users that share connections hold none while they think.
    exchanges * EXCHANGE_S + if shared { 0.0 } else { idle_s }
}

/// True if this instruction is the part's last.
fn ends_at(part: &Visits, pc: usize) -> bool {
    part.instructions.end as usize == pc + 1
}

#[cfg(test)]
mod tests {
    use scenario::{Settings, Source, compile};

    use super::*;

    fn users_max(steps: &str) -> u64 {
        layout(&plan(steps), 2, 20_000, 0).users_max
    }

    fn plan(steps: &str) -> Plan {
        let text = format!(
            "name: stay\ntarget: http://target.test/\nsessions: {{ main: [ {steps} ] }}\narrivals: [ \
             {{ constant: 10/s, for: 1000s }} ]\n"
        );
        let settings =
            Settings { overrides: &[], env: &|_| None, files: &|name| Err(name.to_owned()) };
        let source = Source { name: "stay.yaml", text: &text };
        let (plan, diagnostics) = compile(source, &settings);
        plan.unwrap_or_else(|| panic!("{diagnostics:?}"))
    }

    /// State a is visited twice on average (a geometric number), each time with two seconds in it;
    /// b every second time, with four; leaving a for itself takes one second, once on average.
    #[test]
    fn states_of_a_chain_count_by_their_expected_visits() {
        let chain = "{ markov: { states: { a: { steps: [ { think: 2s } ], next: { a: { p: 0.5, think: \
                     1s }, b: 0.25, exit: 0.25 } }, b: { steps: [ { think: 4s } ], next: { exit: 1 } \
                     } } } }";
        assert_eq!(users_max(chain), 70);
    }

    #[test]
    fn branches_have_connections_of_their_own() {
        let parallel = |count: usize| {
            let branches = vec!["{ think: 5s }"; count].join(", ");
            format!("{{ parallel: [ {branches} ] }}")
        };
        let one = users_max("{ think: 5s }, { think: 5s }");
        assert_eq!(users_max(&parallel(2)), 2 * one);
        let twenty: Vec<_> = vec!["{ think: 5s }"; 20];
        let one = users_max(&twenty.join(", "));
        assert_eq!(users_max(&parallel(20)), 6 * one);
    }

    #[test]
    fn each_worker_has_a_loop_and_more_than_cores_do_not_spin() {
        let plan = plan("{ think: 5s }");
        let chosen = [0, 1, 2, 5].map(|workers| {
            let Layout { loops_count, waiting, .. } = layout(&plan, 2, 20_000, workers);
            (loops_count, waiting)
        });
        let precise = (2, WaitMode::Precise);
        assert_eq!(chosen, [precise, precise, precise, (5, WaitMode::Wide)]);
    }

    #[test]
    fn users_stay_as_long_as_their_steps_take() {
        assert_eq!(users_max("{ think: 5s }"), 50);
        assert_eq!(users_max("{ loop: 4, steps: [ { think: 5s } ] }"), 200);
        let nested = "{ loop: 2, steps: [ { loop: 3, steps: [ { think: 5s } ] }, { think: 1s } ] }";
        assert_eq!(users_max(&format!("{nested}, {{ think: 3s }}")), 350);
    }

    #[test]
    fn users_of_populations_side_by_side_are_there_at_once() {
        let plan = crate::testing::plan(
            "target: http://h/\nsessions: { main: [ { think: 5s } ] }\npopulations:\n  \
             a: { arrivals: [ { users: 40, for: 9s }, { users: 0..70, for: 9s } ] }\n  \
             b: { arrivals: [ { hold: 9s }, { users: 30, for: 9s } ] }\n  \
             c: { arrivals: [ { constant: 10/s, for: 1000s } ] }\n",
        );
        assert_eq!(layout(&plan, 2, 20_000, 0).users_max, 70 + 30 + 50);
    }

    #[test]
    fn a_user_without_an_end_is_counted_until_the_end() {
        assert_eq!(users_max("{ forever: [ { think: 5s } ] }"), 10_000);
        let within = "{ markov: { states: { a: { steps: [ { forever: [ { think: 5s } ] } ], next: { exit: \
                      1 } } } } }";
        assert_eq!(users_max(within), 10_000);
        let chain = "{ markov: { states: { a: { think: 1s, next: { a: 1 } } } } }";
        assert_eq!(users_max(chain), 10_000);
        let drawn = "{ loop: \"random(1, 5)\", steps: [ { think: 5s } ] }";
        assert_eq!(users_max(drawn), 10_000);
    }
}
