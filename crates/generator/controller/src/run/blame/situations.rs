//! The situations, by the side that is the limit.

use engine::sim::{Packet, Verdict};
use record::Outcome;
use record::schema::EventKind;
use stats::rng::{Purpose, Rng};

use super::bed::{Bed, NoCpu};
use super::target::{Faults, S};
use super::{NOTHING, Side, Situation};

const MS: u64 = 1_000_000;
/// A server of about 480 requests a second.
const SERVICE_NS: u64 = S / 480;
const GET: &str = "{ get: / }";
/// Eight requests over one connection.
const KEEP: &str = "{ get: / }, { get: / }, { get: / }, { get: / }, { get: / }, { get: / }, { get: / }, { get: / }";
/// A connection that is held for five seconds.
const HOLD: &str = "{ get: / }, { think: 5s }, { get: / }";

/// A run of one session with a drain of a second. `options` begins with a comma, if there are any.
fn run(seed: u64, steps: &str, arrivals: &str, options: &str) -> Bed {
    Bed::new(format!(
        "
name: blame
seed: {seed}
target: http://127.0.0.1/
sessions:
  visitor: [{steps}]
arrivals: [{arrivals}]
options: {{ drain: 1s, connecting_max: 4096{options} }}
"
    ))
}

fn at_target(seed: u64, rate: u32, seconds: u32, options: &str, faults: Faults) -> Bed {
    let arrivals = format!("{{ poisson: {rate}/s, for: {seconds}s }}");
    Bed { faults, ..run(seed, GET, &arrivals, options) }
}

/// A queue with that many servers, which do 480 requests a second each.
fn queue(servers: u32, is_random: bool) -> Faults {
    Faults { servers, service_ns: SERVICE_NS, is_random, ..Faults::default() }
}

/// A queue with one server, at a fraction of what it can do, and what else is wrong with it.
fn flawed(
    seed: u64,
    rate: u32,
    seconds: u32,
    options: &str,
    flaw: impl FnOnce(&mut Faults),
) -> Bed {
    let mut faults = queue(1, true);
    flaw(&mut faults);
    at_target(seed, rate, seconds, options, faults)
}

/// The conditions of every packet of the connects or of the users' bytes.
fn with_rule(mut bed: Bed, rule: impl FnMut(u64, Packet) -> Verdict + 'static) -> Bed {
    bed.link.rule = Box::new(rule);
    bed
}

fn target(
    name: &'static str,
    complaints: &'static [&'static str],
    bed: fn(u64) -> Bed,
) -> Situation {
    Situation { name, side: Side::Target, complaints, beside: &[], bed }
}

/// A target that keeps users waiting for connections, so that they start late.
fn target_that_holds_users(name: &'static str, bed: fn(u64) -> Bed) -> Situation {
    Situation { beside: &["connecting-limit"], ..target(name, &["target-saturated"], bed) }
}

fn generator(
    name: &'static str,
    complaints: &'static [&'static str],
    bed: fn(u64) -> Bed,
) -> Situation {
    Situation { side: Side::Generator, ..target(name, complaints, bed) }
}

fn nobody(name: &'static str, bed: fn(u64) -> Bed) -> Situation {
    nobody_but(name, &[], bed)
}

/// Nobody is to blame, and this may be said.
fn nobody_but(
    name: &'static str,
    complaints: &'static [&'static str],
    bed: fn(u64) -> Bed,
) -> Situation {
    Situation { side: Side::Nobody, ..target(name, complaints, bed) }
}

pub(super) static SITUATIONS: std::sync::LazyLock<Vec<Situation>> =
    std::sync::LazyLock::new(|| {
        let mut all = overloaded();
        all.extend(silent());
        all.extend(failing());
        all.extend(partly_slow());
        all.extend(of_network());
        all.extend(of_generator());
        all.extend(of_nobody());
        all
    });

/// Twice what the target can do.
pub(super) fn overload(seed: u64) -> Bed {
    at_target(seed, 1000, 8, "", queue(1, true))
}

/// Targets that can do less than is due.
fn overloaded() -> Vec<Situation> {
    vec![
        target("cpu_bound", &["target-saturated"], |seed| {
            at_target(seed, 700, 8, "", queue(1, false))
        }),
        target("single_threaded", &["target-saturated"], overload),
        target("far_overloaded", &["target-saturated"], |seed| {
            at_target(seed, 2000, 8, "", queue(1, false))
        }),
        target("many_threads", &["target-saturated"], |seed| {
            at_target(seed, 2500, 8, "", queue(4, true))
        }),
        target("short_overload", &["target-saturated"], |seed| {
            at_target(seed, 1000, 4, "", queue(1, true))
        }),
        // The target works on for users that have given up: after two seconds all answers are too late.
        target("overload_timeouts", &["target-saturated"], |seed| {
            at_target(seed, 1000, 8, ", timeout: 1s", queue(1, true))
        }),
        target("far_overload_timeouts", &["target-saturated"], |seed| {
            at_target(seed, 2000, 8, ", timeout: 1s", queue(1, true))
        }),
        target("short_overload_timeouts", &["target-saturated"], |seed| {
            at_target(seed, 1000, 4, ", timeout: 1s", queue(1, true))
        }),
        target("ramp_timeouts", &["target-saturated"], |seed| {
            let bed = run(seed, GET, "{ ramp: 1/s..1000/s, for: 20s }", ", timeout: 1s");
            Bed { faults: queue(1, true), ..bed }
        }),
    ]
}

/// Targets that answer nothing for some time.
fn silent() -> Vec<Situation> {
    vec![
        target("stalling", &["target-stalled"], |seed| {
            flawed(seed, 100, 10, "", |target| target.frozen = (3 * S, 6 * S))
        }),
        target("frozen", &["target-stopped"], |seed| {
            flawed(seed, 100, 10, "", |target| {
                target.frozen = (3 * S, u64::MAX);
            })
        }),
    ]
}

/// Targets that fail some requests, or all.
fn failing() -> Vec<Situation> {
    vec![
        target("leaking", &["errors"], |seed| {
            flawed(seed, 200, 8, ", timeout: 1s", |target| target.leak = 0.05)
        }),
        // They wait to the end of the run.
        target("leaking_long", &["errors", "sessions-cut-off"], |seed| {
            flawed(seed, 200, 8, ", timeout: 30s", |target| target.leak = 0.1)
        }),
        target("late", &["errors"], |seed| {
            at_target(seed, 100, 8, ", timeout: 1s", Faults { late: 0.46, ..Faults::default() })
        }),
        target("failing", &["errors"], |seed| flawed(seed, 100, 8, "", |target| target.fail = 0.5)),
        target("resetting", &["errors"], |seed| {
            flawed(seed, 100, 8, "", |target| target.reset = 0.3)
        }),
        target("refusing", &["nothing-succeeded"], |seed| {
            let bed = at_target(seed, 200, 4, "", Faults::default());
            with_rule(bed, |_, packet| match packet {
                Packet::Connect => Verdict::Refuse,
                _ => Verdict::Pass,
            })
        }),
        target("killed", &["errors", "target-stopped"], |seed| {
            let killed_ns = 4 * S;
            let bed = flawed(seed, 200, 8, "", |target| target.killed_ns = killed_ns);
            with_rule(bed, move |now_ns, packet| match packet {
                Packet::Connect if now_ns >= killed_ns => Verdict::Refuse,
                _ => Verdict::Pass,
            })
        }),
    ]
}

/// Targets of which one part is too slow.
fn partly_slow() -> Vec<Situation> {
    vec![
        target(
            "accept_queue_full",
            &["target-saturated", "target-stopped", "nothing-succeeded", "steps-never-succeeded"],
            |seed| {
                let frozen = (0, u64::MAX);
                let options = ", connect_timeout: 2s, timeout: 4s";
                let bed = at_target(seed, 100, 8, options, Faults { frozen, ..Faults::default() });
                let mut connects = 0;
                with_rule(bed, move |_, packet| {
                    connects += u32::from(packet == Packet::Connect);
                    match packet {
                        Packet::Connect if connects > 17 => Verdict::Drop,
                        _ => Verdict::Pass,
                    }
                })
            },
        ),
        target("slow_reader", &["steps-never-succeeded", "target-saturated"], |seed| {
            let faults = Faults { reads_per_s: 4096, ..Faults::default() };
            let steps = "{ post: /, body: '${random_string(60000)}' }";
            let bed = run(seed, steps, "{ poisson: 20/s, for: 10s }", ", timeout: 5s");
            Bed { faults, ..bed }
        }),
        target("one_slow_step", &["target-saturated"], |seed| slow_step(seed, "30s")),
        target("slow_step_timeouts", &["target-saturated"], |seed| slow_step(seed, "1s")),
        target_that_holds_users("slow_to_accept", |seed| {
            // A hundred connections a second, from the first one on.
            let bed = held(seed, 50);
            with_rule(bed, |_, packet| match packet {
                Packet::Connect => Verdict::Delay(500 * MS),
                _ => Verdict::Pass,
            })
        }),
    ]
}

/// Three steps, of which the second has a server of its own that does 50 a second.
fn slow_step(seed: u64, timeout: &str) -> Bed {
    let faults = Faults { service_ns: 20 * MS, queue_path: Some("/slow"), ..queue(1, true) };
    let steps = "{ get: /a }, { get: /slow }, { get: /b }";
    let arrivals = "{ poisson: 100/s, for: 10s }";
    let bed = run(seed, steps, arrivals, &format!(", timeout: {timeout}"));
    Bed { faults, ..bed }
}

/// 200 users a second, of whom no more than this may be connecting at the same time.
fn held(seed: u64, connecting_max: u32) -> Bed {
    let mut bed = at_target(seed, 200, 8, "", queue(1, true));
    let other = format!("connecting_max: {connecting_max}");
    bed.text = bed.text.replace("connecting_max: 4096", &other);
    bed
}

fn of_network() -> Vec<Situation> {
    vec![
        target("slow_network", &["target-saturated"], |seed| {
            let mut bed = at_target(seed, 50, 8, ", timeout: 30s", Faults::default());
            bed.link.latency_ns = 5 * MS;
            // A response takes the line for 80 ms.
            let mut free_ns = 0;
            with_rule(bed, move |now_ns, packet| match packet {
                Packet::ToUser => {
                    free_ns = now_ns.max(free_ns) + 80 * MS;
                    Verdict::Delay(free_ns - now_ns)
                }
                _ => Verdict::Pass,
            })
        }),
        target("lossy_network", &["retransmits", "host-syn-retransmits"], |seed| {
            let mut bed = at_target(seed, 50, 8, ", timeout: 30s", Faults::default());
            bed.link.latency_ns = 5 * MS;
            bed.retransmits_per_s = 8;
            let mut rng = Rng::new(seed, 2, Purpose::Resample);
            with_rule(bed, move |_, packet| match (rng.unit() < 0.05, packet) {
                (false, _) => Verdict::Pass,
                (true, Packet::Connect) => Verdict::Delay(S),
                (true, _) => Verdict::Delay(200 * MS),
            })
        }),
    ]
}

/// 1,600 requests a second on a loop that needs half of its core for them.
fn busy_loop(seed: u64, event_ns: u64) -> Bed {
    let mut bed = run(seed, KEEP, "{ poisson: 200/s, for: 6s }", "");
    bed.link.event_ns = event_ns;
    bed
}

/// A fifth of a core: 20 ms of every 100 ms.
fn fifth_of_a_core(mut bed: Bed) -> Bed {
    let periods = (0..400).map(|n| (n * 100 * MS + 20 * MS, (n + 1) * 100 * MS));
    bed.link.frozen = periods.collect();
    bed.no_cpu = NoCpu::Throttled;
    bed
}

fn limited(seed: u64, outcome: Outcome) -> Bed {
    let bed = run(seed, HOLD, "{ poisson: 200/s, for: 6s }", "");
    let bed = Bed { files: 200, ..bed };
    with_rule(bed, move |now_ns, packet| match packet {
        Packet::Connect if now_ns >= S => Verdict::Limit(outcome),
        _ => Verdict::Pass,
    })
}

fn of_generator() -> Vec<Situation> {
    vec![
        generator("fifth_of_a_core", &["generator-limited"], |seed| {
            fifth_of_a_core(busy_loop(seed, 150_000))
        }),
        generator("busy_neighbour", &["generator-starved"], |seed| {
            // Three of four slices of the scheduler go to others.
            let mut bed = busy_loop(seed, 150_000);
            let mut rng = Rng::new(seed, 3, Purpose::Resample);
            let mut at_ns = 0;
            while at_ns < 40 * S {
                let own_ns = (1 + rng.below(7)) * MS;
                let others_ns = (4 + rng.below(17)) * MS;
                bed.link.frozen.push((at_ns + own_ns, at_ns + own_ns + others_ns));
                at_ns += own_ns + others_ns;
            }
            bed.no_cpu = NoCpu::Waiting;
            bed
        }),
        generator("own_cpu", &["generator-cpu"], |seed| {
            // Twice as much as a core can do.
            let mut bed = run(seed, GET, "{ poisson: 1000/s, for: 4s }", ", mode: precise");
            bed.link.event_ns = 700_000;
            bed
        }),
        generator("out_of_files", &["generator-files"], |seed| limited(seed, Outcome::NoFiles)),
        generator("out_of_ports", &["generator-ports"], |seed| limited(seed, Outcome::NoPorts)),
        generator("out_of_socket_memory", &["generator-memory"], |seed| {
            limited(seed, Outcome::NoMemory)
        }),
        generator("out_of_memory", &["generator-memory"], |seed| {
            let mut bed = run(seed, HOLD, "{ poisson: 200/s, for: 6s }", "");
            bed.link.arrivals_close_ns = 2 * S;
            let what = EventKind::MemoryPressure { available_bytes: 1 << 20, users: 400 };
            bed.events.push((2 * S, what));
            bed
        }),
        generator("slow_disk", &[NOTHING], |seed| {
            let mut bed = run(seed, GET, "{ poisson: 500/s, for: 6s }", "");
            let reason = "rows came faster than they could be written".to_owned();
            bed.events.push((2 * S, EventKind::Sampling { rate: 8, reason }));
            bed
        }),
        generator("generator_stopped", &["generator-lag"], |seed| {
            let mut bed = run(seed, GET, "{ poisson: 500/s, for: 10s }", "");
            bed.link.frozen = vec![(3 * S, 6 * S)];
            bed
        }),
        generator("connecting_setting", &["connecting-limit"], |seed| {
            // Any connection takes the 300 ms of the way.
            let mut bed = held(seed, 30);
            bed.link.latency_ns = 150 * MS;
            bed
        }),
        generator("both", &["generator-limited"], |seed| {
            // With both at once only the generator's limit is known.
            let mut bed = at_target(seed, 1000, 6, "", queue(1, true));
            bed.link.event_ns = 150_000;
            fifth_of_a_core(bed)
        }),
    ]
}

fn of_nobody() -> Vec<Situation> {
    vec![
        nobody("all_well", |seed| run(seed, KEEP, "{ poisson: 200/s, for: 6s }", "")),
        nobody("far_away", |seed| {
            let mut bed = at_target(seed, 100, 8, "", queue(1, true));
            bed.link.latency_ns = 150 * MS;
            bed
        }),
        nobody("nearly_full", |seed| at_target(seed, 380, 20, "", queue(1, true))),
        // Who is due at the end has no answer yet.
        nobody_but("ramp_of_slow_responses", &["sessions-cut-off"], |seed| {
            // By Little's law three seconds of a growing rate wait.
            let faults = Faults { delay_ns: 3 * S, ..Faults::default() };
            let bed = run(seed, GET, "{ ramp: 1/s..100/s, for: 20s }", "");
            Bed { faults, ..bed }
        }),
        nobody("closed_on_saturated", |seed| {
            let bed = run(seed, GET, "{ users: 64, for: 8s }", "");
            Bed { faults: queue(1, true), ..bed }
        }),
    ]
}
