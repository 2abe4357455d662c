//! Tests of blame: situations in which the target, the network or the generator is known to be the limit, each played
//! in virtual time with some seeds each. `checks/truth/blame.py` plays them on real sockets, and has the same names.
//!
//! A run is judged rightly if its first complaint - the first finding that is a warning or fatal - is one of those that
//! are true of the situation, and if no finding blames another side, be it only as a warning. Where nobody is to blame
//! there is no complaint at all.

mod bed;
mod fates;
mod own;
mod percentiles;
mod situations;
mod sums;
mod target;

use record::schema::{Finding, Severity, Summary, Verdict};

use bed::Bed;
use situations::SITUATIONS;

/// Each situation is played with this number of seeds, unless `THRONG_CASES` says how many.
const SEEDS: u64 = 4;
/// The name for a run without complaints.
const NOTHING: &str = "nothing";
/// Findings that blame the target.
const TARGETS: [&str; 4] = ["target-saturated", "target-stopped", "target-stalled", "target-limit"];

/// The side that is the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Target,
    Generator,
    Nobody,
}

struct Situation {
    name: &'static str,
    side: Side,
    /// Findings that name it; any one of them may come first. Of nobody's: all that may be said.
    complaints: &'static [&'static str],
    /// Findings of the other side that may stand behind the first.
    beside: &'static [&'static str],
    /// The run of a seed.
    bed: fn(u64) -> Bed,
}

impl Situation {
    /// The fault of a summary, if it has one.
    fn misjudged(&self, summary: &Summary) -> Option<String> {
        let grave = summary.findings.iter();
        let grave = grave.filter(|f| matches!(f.severity, Severity::Warning | Severity::Fatal));
        let first = grave.clone().next().map_or(NOTHING, |f| f.code.as_str());
        let is_listed = |code: &str| self.complaints.contains(&code) || self.beside.contains(&code);
        let is_strange = |f: &&Finding| {
            let code = f.code.as_str();
            let blames_other = match self.side {
                Side::Target => code.starts_with("generator-") || code == "connecting-limit",
                Side::Generator => TARGETS.contains(&code),
                Side::Nobody => true,
            };
            blames_other && !is_listed(code)
        };
        let names_side = self.side == Side::Nobody || self.complaints.contains(&first);
        let is_right = names_side && !grave.clone().any(|f| is_strange(&f));
        let texts: Vec<&str> = grave.map(|f| f.text.as_str()).collect();
        (!is_right).then(|| format!("{}: {first} first of {texts:#?}", self.name))
    }
}

#[test]
fn findings_blame_the_side_that_is_the_limit() {
    assert!(SITUATIONS.len() >= 24, "{}", SITUATIONS.len());
    let all = &*SITUATIONS;
    // Dealt to the threads in turn, since some take much longer than others.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|first| scope.spawn(move || misjudged(all.iter().skip(first).step_by(threads))))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
}

/// The number of situations that `docs/promises.md` gives.
#[test]
fn promised_situations_are_played() {
    let promises = include_str!("../../../../../docs/promises.md");
    let promised = format!("`blame` of `controller`: {} situations", SITUATIONS.len());
    assert!(promises.contains(&promised), "{promised}");
}

/// Twice what the target can do: the run fails, but not if its scenario expects that.
#[test]
fn a_scenario_may_expect_overload() {
    let verdict = |expect: &str| {
        let mut bed = situations::overload(1);
        bed.text += &format!("thresholds: [ \"p99(GET /.succeeded) < 60s\" ]\n{expect}");
        let summary = bed.judged(1);
        assert_eq!(summary.findings[0].code, "target-saturated");
        assert!(summary.thresholds[0].passed);
        summary.verdict
    };
    assert_eq!(verdict(""), Verdict::Failed);
    assert_eq!(verdict("expect: overload\n"), Verdict::Passed);
}

/// The step that is too slow is named, with time limits and without.
#[test]
fn the_slow_step_of_three_is_named() {
    for name in ["one_slow_step", "slow_step_timeouts"] {
        let situation = SITUATIONS.iter().find(|s| s.name == name).unwrap();
        let summary = (situation.bed)(1).judged(1);
        let text = &summary.findings[0].text;
        assert!(text.starts_with("the target fell behind at GET /slow from "), "{text}");
    }
}

/// The faults in the summaries of all seeds.
fn misjudged<'a>(situations: impl Iterator<Item = &'a Situation>) -> Vec<String> {
    let seeds = std::env::var("THRONG_CASES").map_or(SEEDS, |text| text.parse().unwrap());
    let runs = situations.flat_map(|situation| {
        (1..=seeds).map(move |seed| (situation, (situation.bed)(seed).judged(seed)))
    });
    runs.filter_map(|(situation, summary)| situation.misjudged(&summary)).collect()
}

/// A run that is killed after any of its seconds is judged by what its last checkpoint has, and its sums hold.
#[test]
fn a_run_killed_after_any_second_is_judged_by_its_last_checkpoint() {
    let text = "target: http://127.0.0.1/\nsessions: { s: [ { get: /, as: page }, { think: 700ms }, { get: /b, as: b } ] }\n\
                arrivals: [ { constant: 20/s, for: 10s } ]\noptions: { drain: 2s }\n";
    for (summary, ended, end_ns) in Bed::new(text.to_owned()).killed_after_each_second(1) {
        let counted: u64 = summary.measures.iter().map(|measure| measure.count).sum();
        assert_eq!(counted, ended, "killed after {} s", end_ns as f64 / 1e9);
        let codes: Vec<&str> = summary.findings.iter().map(|f| f.code.as_str()).collect();
        assert!(codes.contains(&"run-incomplete"), "{codes:?}");
        assert!(!codes.contains(&"sums-broken"), "{codes:?}");
        let page = summary.measures.iter().find(|measure| measure.name == "page");
        let rate = page.map_or(0.0, |page| page.rate_per_s);
        assert!(end_ns == 0 || end_ns > 10 * target::S || (rate - 20.0).abs() < 0.5, "{rate}");
    }
}
