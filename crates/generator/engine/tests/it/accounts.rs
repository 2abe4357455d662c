//! Random scenarios on random servers and networks, ended at random: everybody and everything is accounted for.
//!
//! A case is its number; `THRONG_CASES` sets how many are tried, 100,000 by `make accounts-truth`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use engine::sim::{self, Link, Packet, Peer, PeerAction, PeerConn, PeerEvent, SimRun, Verdict};
use plan::MeasureKind;
use record::{Measurement, Outcome};
use stats::censored::{CensoredTimes, Quantile};
use stats::hist::LogHistogram;
use stats::rng::{Purpose, Rng};

use crate::peers::{HttpPeer, WsPeer, ok, response, text};
use crate::support::{MS, Ran, S, plan};

const CASES: u64 = 1500;

#[test]
fn all_sums_hold_and_percentiles_are_those_of_an_exact_oracle() {
    let mut seen = Seen::default();
    for number in 0..testkit::cases(CASES) {
        let ran = case(number);
        let checked = std::panic::catch_unwind(AssertUnwindSafe(|| seen_in(&ran)));
        seen.add(&checked.unwrap_or_else(|failed| {
            let why = failed.downcast_ref::<String>().cloned();
            panic!("case {number}:\n{}\n{}", scenario(number), why.unwrap_or_default())
        }));
    }
    // The cases are worth their number only if they fail in all ways.
    let missing: Vec<Outcome> =
        WANTED.into_iter().filter(|&outcome| seen.outcomes[outcome as usize] == 0).collect();
    assert!(missing.is_empty(), "no case ended in {missing:?}");
    assert!(seen.finished > 0 && seen.cut > 0 && seen.failed > 0 && seen.stopped > 0, "{seen:?}");
    assert!(
        seen.bounds > 0
            && seen.unstarted > 0
            && seen.refused > 0
            && seen.paused > 0
            && seen.missed > 0,
        "{seen:?}"
    );
}

const WANTED: [Outcome; 9] = [
    Outcome::Ok,
    Outcome::Status,
    Outcome::Timeout,
    Outcome::ConnectTimeout,
    Outcome::Refused,
    Outcome::Reset,
    Outcome::Closed,
    Outcome::NoFiles,
    Outcome::Unfinished,
];

/// What the cases came across.
#[derive(Debug, Default)]
struct Seen {
    outcomes: Vec<u64>,
    finished: u64,
    failed: u64,
    stopped: u64,
    cut: u64,
    unstarted: u64,
    refused: u64,
    paused: u64,
    /// Steps that were due and never began.
    missed: u64,
    /// Quantiles of which only a bound is known.
    bounds: u64,
}

impl Seen {
    fn add(&mut self, other: &Seen) {
        self.outcomes.resize(engine::measure::OUTCOMES, 0);
        for (sum, n) in self.outcomes.iter_mut().zip(&other.outcomes) {
            *sum += n;
        }
        self.finished += other.finished;
        self.failed += other.failed;
        self.stopped += other.stopped;
        self.cut += other.cut;
        self.unstarted += other.unstarted;
        self.refused += other.refused;
        self.paused += other.paused;
        self.missed += other.missed;
        self.bounds += other.bounds;
    }
}

/// What a stream of a case's draws decides.
#[derive(Clone, Copy)]
enum Draws {
    Scenario,
    Server,
    Answers,
    Run,
    Network,
    Stop,
}

fn draws(number: u64, what: Draws) -> Rng {
    Rng::new(number, what as u64, Purpose::Resample)
}

fn one_of<'a>(rng: &mut Rng, choices: &[&'a str]) -> &'a str {
    choices[rng.below(choices.len() as u64) as usize]
}

/// A scenario that compiles, of a few steps, phases and options.
fn scenario(number: u64) -> String {
    let mut rng = draws(number, Draws::Scenario);
    let mut text = format!("name: case\nseed: {number}\ntarget: http://target.test/\noptions:\n");
    let choice =
        |rng: &mut Rng, key: &str, values: &[&str]| format!("  {key}: {}\n", one_of(rng, values));
    text += &choice(&mut rng, "timeout", &["300ms", "2s", "20s"]);
    text += &choice(&mut rng, "connect_timeout", &["200ms", "3s"]);
    text += &choice(&mut rng, "drain", &["0s", "50ms", "3s", "30s"]);
    text += &choice(&mut rng, "connecting_max", &["1", "5", "1000"]);
    text += &choice(&mut rng, "http_connections", &["user", "shared"]);
    text += &choice(&mut rng, "connections_max", &["1", "2", "6"]);
    text += &choice(&mut rng, "connect_retries", &["{ times: 0 }", "{ times: 2, pause: 100ms }"]);
    text += "shared: { rendezvous: { pair: 2 }, counters: { numbers: }, queues: { few: 2 } }\n";
    text += "sessions:\n";
    for session in 0..1 + rng.below(2) {
        let _ = writeln!(text, "  s{session}:");
        for at in 0..1 + rng.below(4) {
            step(&mut text, &mut rng, at, 4);
        }
    }
    text += "arrivals:\n";
    phases(&mut text, &mut rng, "  ");
    if rng.below(4) == 0 {
        text += "populations:\n  beside:\n    arrivals:\n";
        phases(&mut text, &mut rng, "      ");
    }
    text
}

fn phases(text: &mut String, rng: &mut Rng, indent: &str) {
    for _ in 0..1 + rng.below(3) {
        let rate = 1 + rng.below(20);
        let time_ms = 100 + rng.below(2000);
        let _ = match rng.below(5) {
            0 => writeln!(text, "{indent}- {{ constant: {rate}/s, for: {time_ms}ms }}"),
            1 => writeln!(text, "{indent}- {{ poisson: {rate}/s, for: {time_ms}ms }}"),
            2 => writeln!(text, "{indent}- {{ ramp: 1/s..{rate}/s, for: {time_ms}ms }}"),
            3 => writeln!(text, "{indent}- {{ users: {rate}, for: {time_ms}ms }}"),
            _ => writeln!(
                text,
                "{indent}- {{ constant: {rate}/s, for: {time_ms}ms }}\n{indent}- {{ hold: 500ms }}"
            ),
        };
    }
}

fn step(text: &mut String, rng: &mut Rng, at: u64, depth: usize) {
    let indent = " ".repeat(depth);
    let _ = match rng.below(if depth < 8 { 13 } else { 6 }) {
        0 | 1 => writeln!(text, "{indent}- get: /{at}"),
        2 => writeln!(text, "{indent}- {{ post: /{at}, body: text, timeout: 700ms }}"),
        3 => writeln!(
            text,
            "{indent}- think: {}",
            one_of(rng, &["10ms", "1s", "{ exponential: 400ms }"])
        ),
        4 => writeln!(text, "{indent}- {{ think: 1ms }}\n{indent}- get: /late{at}"),
        5 => writeln!(
            text,
            "{indent}- {{ rendezvous: pair, timeout: {}, on_timeout: {} }}",
            one_of(rng, &["1ms", "60ms", "1s"]),
            one_of(rng, &["continue", "fail"])
        ),
        10 => writeln!(
            text,
            "{indent}- next: {{ n: numbers }}\n{indent}- {{ enqueue: few, value: \"${{n}}\" }}\n{indent}- think: 1ms"
        ),
        11 => writeln!(
            text,
            "{indent}- {{ dequeue: few, save: n, timeout: {} }}\n{indent}- get: /${{n}}\n{indent}  as: taken",
            one_of(rng, &["0s", "60ms", "1s"])
        ),
        12 => {
            let _ = writeln!(text, "{indent}- ws: /socket{at}");
            writeln!(
                text,
                "{indent}- {{ send: {{ op: x }}, reply: {{ when: {{ /re: x }}, within: 900ms }}, as: reply{at} }}"
            )
        }
        6 => {
            let _ = writeln!(text, "{indent}- loop: {}\n{indent}  steps:", 1 + rng.below(4));
            step(text, rng, at + 10, depth + 4);
            Ok(())
        }
        7 => {
            let attempts = 2 + rng.below(3);
            let _ = writeln!(
                text,
                "{indent}- retry: {attempts}\n{indent}  pause: {}\n{indent}  {}\n{indent}  {}\n{indent}  steps:",
                one_of(rng, &["0s", "50ms", "1s"]),
                one_of(rng, &["jitter: none", "failures: [500, timeout]"]),
                one_of(rng, &["factor: 1", "until: random(1, 3) > 1", "else: [ { think: 10ms } ]"]),
            );
            step(text, rng, at + 20, depth + 4);
            Ok(())
        }
        8 => branches(text, rng, depth),
        _ => {
            let _ = writeln!(text, "{indent}- pace: {}", one_of(rng, &["100ms", "1s"]));
            writeln!(text, "{indent}- get: /paced{at}")
        }
    };
}

/// Branches at the same time, of steps that branches may have.
fn branches(text: &mut String, rng: &mut Rng, depth: usize) -> std::fmt::Result {
    let indent = " ".repeat(depth);
    writeln!(text, "{indent}- parallel:")?;
    for at in 0..1 + rng.below(8) {
        writeln!(text, "{indent}  -")?;
        for at in 0..1 + rng.below(2) {
            step(text, rng, 30 + at, depth.max(8) + 4);
        }
        if rng.below(4) == 0 {
            let attempts = format!("retry: 2, steps: [ {{ get: /tried{at} }} ]");
            writeln!(text, "{indent}  {}- {{ {attempts} }}", " ".repeat(depth.max(8) + 2 - depth))?;
        }
    }
    Ok(())
}

type HttpAnswers = Box<dyn FnMut(&str) -> Vec<PeerAction>>;
type WsAnswers = Box<dyn FnMut(u64, &str) -> Vec<PeerAction>>;

/// A server of both protocols that answers, fails, closes, resets or is silent, by chance.
struct Anything {
    http: HttpPeer<HttpAnswers>,
    ws: WsPeer<WsAnswers>,
    is_ws: HashMap<PeerConn, bool>,
}

impl Anything {
    fn new(number: u64) -> Anything {
        let mut rng = draws(number, Draws::Server);
        // Half of the servers have no fault.
        let faulty = rng.below(2) * 100;
        let mut answers = draws(number, Draws::Answers);
        let http: HttpAnswers = Box::new(move |_| match answers.below(100 + faulty) {
            0..=99 => ok("ok"),
            100..=129 => response("500 Internal Server Error", "", "no"),
            130..=149 => vec![PeerAction::Close],
            150..=169 => vec![PeerAction::Reset],
            170..=179 => vec![PeerAction::Send(b"nonsense\r\n\r\n".to_vec())],
            _ => Vec::new(),
        });
        let mut answers = draws(number, Draws::Answers);
        let ws: WsAnswers = Box::new(move |_, _| match answers.below(100 + faulty) {
            0..=119 => vec![text("{\"re\":\"x\"}")],
            120..=139 => vec![PeerAction::Close],
            140..=159 => vec![PeerAction::Reset],
            _ => Vec::new(),
        });
        let delay: fn(u64) -> u64 = match rng.below(4) {
            0 => |_| 0,
            1 => |_| MS,
            2 => |now_ns| now_ns % 977 * MS,
            _ => |now_ns| now_ns % 7 * S,
        };
        let mut peer = Anything {
            http: HttpPeer::new(delay, http),
            ws: WsPeer::new(ws),
            is_ws: HashMap::new(),
        };
        peer.ws.delay_ns = delay(rng.below(1000));
        peer
    }
}

impl Peer for Anything {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        if let PeerEvent::Received(bytes) = &event {
            let upgrade =
                String::from_utf8_lossy(bytes).to_lowercase().contains("upgrade: websocket");
            self.is_ws.entry(conn).or_insert(upgrade);
        }
        match self.is_ws.get(&conn) {
            Some(true) => self.ws.handle(now_ns, conn, event),
            _ => self.http.handle(now_ns, conn, event),
        }
    }
}

struct Case {
    ran: Ran,
    /// Requests that reached the server whole.
    requests: u64,
}

fn case(number: u64) -> Case {
    let mut rng = draws(number, Draws::Run);
    let plan = plan(&scenario(number));
    let faulty = rng.below(3) == 0;
    let chance = RefCell::new(draws(number, Draws::Network));
    let rule = move |_: u64, packet: Packet| {
        let draw = chance.borrow_mut().below(100);
        match (packet, draw) {
            _ if !faulty => Verdict::Pass,
            (Packet::Connect, 0..=4) => Verdict::Limit(Outcome::NoFiles),
            (_, 0..=9) => Verdict::Drop,
            (_, 10..=19) => Verdict::Refuse,
            (_, 20..=29) => Verdict::Delay(draw * 37 * MS),
            _ => Verdict::Pass,
        }
    };
    let some_ns = |rng: &mut Rng| rng.below(4000) * MS;
    let closed_ns = match rng.below(4) {
        0 => some_ns(&mut rng),
        _ => u64::MAX,
    };
    let mut stop = draws(number, Draws::Stop);
    let stops_ns = match stop.below(4) {
        0 => some_ns(&mut stop),
        _ => u64::MAX,
    };
    let mut span = |one_in: u64| {
        let from = some_ns(&mut rng);
        (rng.below(one_in) == 0).then(|| (from, from + 1 + some_ns(&mut rng) / 4))
    };
    let link = Link {
        // Never 0: a closed load on a network without latency restarts its sessions forever at one instant.
        latency_ns: MS + number % 3 * 7 * MS,
        rule: Box::new(rule),
        frozen: span(4).into_iter().collect(),
        event_ns: if number.is_multiple_of(7) { 300_000 } else { 0 },
        arrivals_close_ns: closed_ns,
        stops_ns,
        work_ns: |_| 0,
        pauses: span(4).into_iter().collect(),
        buffers: Arc::default(),
        trace: None,
        way: Box::new(|_, _, _| Verdict::Pass),
    };
    let mut peer = Anything::new(number);
    let run =
        sim::run(&plan, 1 + (number % 3) as u32, &mut peer, link).expect("the plan can be run");
    Case { ran: Ran { plan, run }, requests: peer.http.requests.len() as u64 }
}

/// Checks a case, and says what it came across.
fn seen_in(case: &Case) -> Seen {
    let ran = &case.ran;
    ran.check_sums();
    let run = &ran.run;
    let mut seen = Seen {
        outcomes: vec![0; engine::measure::OUTCOMES],
        finished: ran.total(|counts| counts.users_finished),
        failed: ran.total(|counts| counts.users_failed),
        stopped: ran.total(|counts| counts.users_stopped),
        cut: ran.total(|counts| counts.users_cut),
        unstarted: ran.total(|counts| counts.users_unstarted),
        refused: ran.total(|counts| counts.users_refused),
        paused: ran.total(|counts| counts.users_paused),
        missed: ran.total(|counts| counts.steps_missed),
        ..Seen::default()
    };
    let mut requests_answered = 0;
    for (id, measure) in ran.plan.measures.iter().enumerate() {
        let rows: Vec<&Measurement> =
            run.rows.iter().filter(|row| usize::from(row.measure) == id).collect();
        let counted = outcomes(run, id);
        // Checks, and steps that failed of themselves, are counted and have no rows.
        if !matches!(measure.kind, MeasureKind::Check | MeasureKind::Step) {
            let mut of_rows = vec![0; engine::measure::OUTCOMES];
            rows.iter().for_each(|row| of_rows[row.outcome as usize] += 1);
            if id == plan::builtin::CONNECT.index() {
                // Nor have users that were due when arrivals had been closed.
                let not_started = counted[Outcome::NoMemory as usize];
                assert!(not_started <= seen.refused);
                of_rows[Outcome::NoMemory as usize] += not_started;
            }
            assert_eq!(of_rows, counted, "rows of {}", measure.name);
        }
        for (sum, n) in seen.outcomes.iter_mut().zip(&counted) {
            *sum += n;
        }
        if measure.kind == MeasureKind::Request && !measure.name.starts_with("reply") {
            requests_answered += counted[Outcome::Ok as usize] + counted[Outcome::Status as usize];
        }
        for row in &rows {
            assert!(row.due_ns <= row.sent_ns && row.sent_ns <= row.done_ns, "{row:?}");
            assert!(row.done_ns <= run.ended_ns, "{row:?} after {}", run.ended_ns);
        }
        seen.bounds += quantiles(run, id, &rows);
    }
    // What the other side counted.
    assert!(
        requests_answered <= case.requests,
        "{requests_answered} requests were answered, and {} arrived",
        case.requests
    );
    seen
}

fn outcomes(run: &SimRun, id: usize) -> Vec<u64> {
    let mut sums = vec![0; engine::measure::OUTCOMES];
    let measures = run.deltas.iter().flat_map(|delta| &delta.measures);
    for delta in measures.filter(|delta| delta.measure.index() == id) {
        for (sum, n) in sums.iter_mut().zip(&delta.outcomes) {
            *sum += n;
        }
    }
    sums
}

/// Holds a measure's percentiles against the product-limit estimate, computed from its rows as its definition
/// says. Returns how many are bounds.
fn quantiles(run: &SimRun, id: usize, rows: &[&Measurement]) -> u64 {
    let mut known = LogHistogram::new();
    let mut censored = LogHistogram::new();
    for delta in run.deltas.iter().flat_map(|delta| &delta.measures) {
        if delta.measure.index() == id {
            known.merge(&delta.response);
            known.merge(&delta.failed);
            censored.merge(&delta.censored);
        }
    }
    let times = |unanswered: bool| -> Vec<u64> {
        let rows = rows.iter().filter(|row| {
            let counts = row.outcome == Outcome::Ok || row.outcome.is_answered_failure();
            if unanswered { row.outcome.is_unanswered() } else { counts }
        });
        rows.map(|row| bucket(row.response_ns())).collect()
    };
    let ended = times(false);
    let given_up = times(true);
    assert_eq!((ended.len() as u64, given_up.len() as u64), (known.count(), censored.count()));
    if ended.len() + given_up.len() == 0 {
        return 0;
    }
    let found = CensoredTimes::new(&known, &censored);
    let mut bounds = 0;
    for percent in [1_u64, 50, 90, 99] {
        let quantile = found.quantile(percent as f64 / 100.0);
        bounds += u64::from(quantile.is_bound());
        let expected = product_limit(&ended, &given_up, percent as f64 / 100.0);
        match (quantile, expected) {
            (Quantile::At(time), Some(expected)) => {
                assert_eq!(
                    bucket(time),
                    expected,
                    "p{percent} of {ended:?} and at least {given_up:?}"
                );
            }
            (Quantile::AtLeast(least), None) => {
                // No distribution of what is not known has this quantile below the bound.
                let mut all = [ended.as_slice(), given_up.as_slice()].concat();
                all.sort_unstable();
                let rank = (all.len() as u64 * percent).div_ceil(100).max(1) as usize;
                let longest = ended.iter().copied().max().unwrap_or(0);
                assert_eq!(bucket(least), all[rank - 1].max(longest), "p{percent}");
            }
            (found, expected) => panic!(
                "p{percent} is {found:?} and should be {expected:?}: {ended:?} and at least {given_up:?}"
            ),
        }
    }
    bounds
}

/// The greatest time in the same bucket of a histogram.
fn bucket(time_ns: u64) -> u64 {
    let mut hist = LogHistogram::new();
    hist.record(time_ns);
    hist.iter().next().expect("one value").1
}

/// The quantile by the definition of Kaplan and Meier; `None` among the censored times.
fn product_limit(ended: &[u64], given_up: &[u64], q: f64) -> Option<u64> {
    let mut times = ended.to_vec();
    times.sort_unstable();
    times.dedup();
    let mut survival = 1.0;
    for time in times {
        let at_risk = ended.iter().chain(given_up).filter(|&&other| other >= time).count();
        let ends = ended.iter().filter(|&&other| other == time).count();
        survival *= 1.0 - ends as f64 / at_risk as f64;
        if survival <= 1.0 - q + 1e-9 {
            return Some(time);
        }
    }
    None
}
