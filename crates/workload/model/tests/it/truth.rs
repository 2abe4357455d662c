//! Logs of users with known parameters, and what the model estimates.

use model::{
    ArrivalProcess, BehaviourKind, Reference, ReferenceCheckError, ReferenceColumns, Settings,
};
use stats::dist::Dist;
use stats::rng::{Purpose, Rng};

use crate::{Space, compiled, line, whole};

/// The advertiser's crowd: publishers with rates, and what follows an ad with these probabilities.
const PUBLISHERS: [(&str, f64, [f64; 3]); 3] = [
    ("first", 0.5, [0.60, 0.40, 0.30]),
    ("second", 0.3, [0.25, 0.50, 0.80]),
    ("third", 0.1, [0.10, 0.90, 0.50]),
];
const STEPS: [&str; 3] =
    ["GET /offers/impression.gif", "POST /offers/redeem", "GET /offers/claim/"];
const SECONDS: f64 = 20_000.0;
const THINK_S: f64 = 5.0;

fn log() -> String {
    let mut rng = Rng::new(42, 0, Purpose::Arrivals);
    let mut lines = Vec::new();
    let mut user = 0_u32;
    for (name, rate, chances) in PUBLISHERS {
        let mut at = 0.0;
        loop {
            at += Dist::Exponential { mean: 1.0 / rate }.sample(&mut rng);
            if at >= SECONDS {
                break;
            }
            user += 1;
            let address = std::net::Ipv4Addr::from(0x0A00_0000 + user).to_string();
            let mut now = at;
            lines.push((now, address.clone(), format!("GET /publishers/{name}/api/?user={user}")));
            for (chance, step) in chances.into_iter().zip(STEPS) {
                if rng.unit() >= chance {
                    break;
                }
                now += Dist::Exponential { mean: THINK_S }.sample(&mut rng);
                lines.push((now, address.clone(), step.to_owned()));
            }
        }
    }
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    lines.iter().map(|(at, address, request)| line(*at as u64, address, request)).collect()
}

fn settings(space: &Space) -> Settings {
    Settings {
        segment: Some("path=^/publishers/([^/]+)/".parse().unwrap()),
        rules: vec!["ad=^GET /publishers/".parse().unwrap()],
        ..space.settings()
    }
}

#[test]
fn rates_probabilities_and_thinks_are_recovered() {
    let space = Space::new();
    let made = space.model(log(), &settings(&space)).unwrap();
    let model = &made.model;
    let class =
        |name: &str| model.classes.iter().position(|class| class.name.starts_with(name)).unwrap();
    let order = [class("ad"), class(STEPS[0]), class(STEPS[1]), class(STEPS[2])];
    assert_eq!(model.segments.len(), 3);
    // 3 rates, 9 probabilities and the thinks of 3, each missed by one interval in twenty.
    let mut missed = 0;
    let mut intervals = 0;
    for (name, rate, chances) in PUBLISHERS {
        let segment = model.segments.iter().find(|segment| segment.name == name).unwrap();
        let arrivals = segment.arrivals.as_ref().unwrap();
        intervals += 1;
        missed += u32::from(arrivals.rate_low > rate || arrivals.rate_high < rate);
        for (step, chance) in chances.into_iter().enumerate() {
            let from_to = (order[step], order[step + 1]);
            let transitions = &segment.behaviour.transitions;
            let found = transitions.iter().find(|t| (t.from, t.to) == from_to).unwrap();
            intervals += 1;
            missed += u32::from(found.low > chance || found.high < chance);
            assert!((found.p - chance).abs() < 0.1, "{name}, step {step}: {found:?}");
        }
        let thinks = &segment.behaviour.thinks;
        let exponential =
            thinks.fits.iter().find(|fit| fit.family.name() == "exponential").unwrap();
        let mean = &exponential.parameters[0];
        intervals += 1;
        missed += u32::from(mean.low.unwrap() > THINK_S || mean.high.unwrap() < THINK_S);
        assert!((mean.value / THINK_S - 1.0).abs() < 0.1, "{mean:?}");
    }
    assert!(missed <= 3, "{missed} of {intervals} intervals miss the truth");
    assert_eq!(model.arrivals.process, ArrivalProcess::Poisson);
    let plan = compiled(&made);
    let weights: Vec<f64> = plan.sessions.iter().map(|session| session.weight).collect();
    assert!((weights[0] / 0.5 - 1.0).abs() < 0.05, "{weights:?}");
    assert!((plan.users_planned() / (0.9 * 3600.0) - 1.0).abs() < 0.05);
}

/// The crowd as a table, some words of it replaced.
fn stated(changes: &[(&str, &str)]) -> Reference {
    let mut table = "publisher,share,seen,redeemed,claimed\n".to_owned();
    for (name, rate, [seen, redeemed, claimed]) in PUBLISHERS {
        table += &format!("{name},{rate},{seen},{redeemed},{claimed}\n");
    }
    for (from, to) in changes {
        assert!(table.contains(from), "{from}");
        table = table.replace(from, to);
    }
    let meaning = ReferenceColumns {
        share: "share".to_owned(),
        rate_per_s: PUBLISHERS.iter().map(|publisher| publisher.1).sum(),
        speed: 1.0,
        path: ["ad", "seen", "redeemed", "claimed"].map(str::to_owned).to_vec(),
        above_one_is_one: false,
    };
    Reference::read(&table, &meaning).unwrap()
}

#[test]
fn reference_check_accepts_true_and_rejects_false_figures() {
    let space = Space::new();
    let rules = ["ad=^GET /publishers/", "seen=impression", "redeemed=redeem", "claimed=claim"];
    let settings =
        Settings { rules: rules.map(|rule| rule.parse().unwrap()).to_vec(), ..settings(&space) };
    let model = space.model(log(), &settings).unwrap().model;
    let right = model::check_against_reference(&model, &stated(&[])).unwrap();
    assert!(right.holds && right.notes.is_empty(), "{right:?}");
    assert_eq!(right.figures.len(), 12);
    assert!(right.figures.iter().all(|figure| !figure.is_uninformative()));
    // Twelve intervals, each of which misses one time in twenty or a little less.
    assert!((0.4..=0.6).contains(&right.misses_expected), "{right:?}");
    let missed = right.figures.iter().filter(|figure| !figure.inside).count();
    assert_eq!(right.misses, missed as u64);
    for (change, segment, what) in [
        (("second,0.3,0.25", "second,0.3,0.29"), "second", "ad → seen"),
        (("third,0.1,0.1,0.9", "third,0.1,0.1,0.99"), "third", "seen → redeemed"),
        (("third,0.1,", "third,0.13,"), "third", "rate"),
        (("first,0.5,0.6,0.4,0.3", "first,0.5,0.6,0.4,1"), "first", "redeemed → claimed"),
    ] {
        let found = model::check_against_reference(&model, &stated(&[change])).unwrap();
        let refused = |figure: &&model::ReferenceFigure| figure.rejected;
        let worst = found.figures.iter().find(refused).unwrap();
        assert!(!found.holds, "{change:?}");
        assert_eq!((worst.segment.as_str(), worst.what.as_str()), (segment, what));
    }
    // Small problems everywhere, none of which is much by itself: too many intervals miss.
    let table = stated(&[]);
    let off = |by: f64| {
        let mut table = table.clone();
        for row in &mut table.segments {
            row.rate_per_s *= 1.0 + by;
            for probability in &mut row.probabilities {
                *probability *= 1.0 + by;
            }
        }
        model::check_against_reference(&model, &table).unwrap()
    };
    assert!(off(0.2).p_misses < 1e-6 && !off(0.2).holds);
    // A publisher of whom nothing was seen is as stated where one would see nothing.
    let rarely = stated(&[("third,0.1,0.1", "nobody,0.00001,0.1")]);
    let found = model::check_against_reference(&model, &rarely).unwrap();
    assert!(found.notes.iter().any(|note| note.contains("third (")), "{found:?}");
    assert!(found.figures.iter().any(model::ReferenceFigure::is_uninformative));
    // A class that nobody came to is one that never followed; one to begin with there has to be.
    let mut other = stated(&[]);
    other.path[1] = "soon".to_owned();
    let found = model::check_against_reference(&model, &other).unwrap();
    assert!(
        !found.holds && found.notes[0].contains("of the class soon; the classes are ad, seen"),
        "{found:?}"
    );
    other.path[0] = "bad".to_owned();
    let error = model::check_against_reference(&model, &other).unwrap_err();
    assert!(matches!(error, ReferenceCheckError::Class { .. }), "{error}");
    assert!(error.to_string().contains("it has ad, seen"), "{error}");
}

#[test]
fn each_parameter_changes_one_thing() {
    let space = Space::new();
    let made = space.model(log(), &settings(&space)).unwrap();
    let text = made.scenario();
    let files = |name: &str| {
        let found = made.files().find(|(file, _)| file == name);
        found.map(|(_, text)| text).ok_or(format!("no file {name}"))
    };
    let planned = |sets: &[(&str, &str)]| {
        let sets: Vec<(String, String)> =
            sets.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let source = scenario::Source { name: "scenario.yaml", text: &text };
        let settings = scenario::Settings { overrides: &sets, env: &|_| None, files: &files };
        let (plan, diagnostics) = scenario::compile(source, &settings);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let plan = plan.unwrap();
        (plan.users_planned(), plan.end_ns() as f64 / 1e9)
    };
    let (users, seconds) = planned(&[]);
    let near = |found: (f64, f64), expected: (f64, f64)| {
        let off = (found.0 / expected.0 - 1.0).abs().max((found.1 / expected.1 - 1.0).abs());
        assert!(off < 0.01, "{found:?} instead of {expected:?}");
    };
    near(planned(&[("speed", "20")]), (users, seconds / 20.0));
    near(planned(&[("users", "2")]), (2.0 * users, seconds));
    near(planned(&[("seconds", "18000")]), (5.0 * users, 18_000.0));
    near(planned(&[("length", "2")]), (users, seconds));
    near(planned(&[("think", "6")]), (users, seconds));
    let first = made.model.segments[0].sessions as f64 / made.model.arrivals.span_s;
    let doubled = format!("{}", 2.0 * first);
    near(planned(&[("rate_first", &doubled)]), (users + first * 3600.0, seconds));
}

#[test]
fn sequences_are_kept_whole() {
    let space = Space::new();
    let settings = Settings { behaviour: BehaviourKind::Sequences, ..settings(&space) };
    let made = space.model(log(), &settings).unwrap();
    assert!(!made.scenario().contains("markov"));
    let segments = || made.model.segments.iter().map(|s| &s.behaviour.sequences);
    let longest = segments().flatten().map(Vec::len).max();
    assert_eq!(longest, Some(4), "nobody does more than four things");
    let requests: usize = segments().flatten().map(Vec::len).sum();
    assert!((7_900..=8_000).contains(&requests), "{requests}");
    compiled(&made);
    let few = Settings { sequences_max: Some(25), ..settings };
    let made = space.model(log(), &few).unwrap();
    let mut segments = made.model.segments.iter();
    assert!(segments.all(|segment| segment.behaviour.sequences.len() == 25));
}

#[test]
fn check_accepts_the_own_model_and_rejects_another() {
    let space = Space::new();
    let one = space.model(log(), &settings(&space)).unwrap().model;
    assert!(model::check(&one, &one, whole(&one)).tests.iter().all(|test| test.p > 0.99));
    let mut other = one.clone();
    for segment in &mut other.segments {
        segment.name = format!("{}_", segment.name);
    }
    let names = model::session_names(&one);
    for (segment, name) in other.segments.iter_mut().zip(names) {
        segment.name = name;
        for transition in &mut segment.behaviour.transitions {
            transition.count /= 2;
        }
    }
    let found = model::check(&one, &other, whole(&one));
    assert!(!found.holds && found.tests[0].quantity == "transitions", "{:?}", found.tests[0]);
}

#[test]
fn models_survive_their_file() {
    let space = Space::new();
    let model = space.model(log(), &settings(&space)).unwrap().model;
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<model::Model>(&text).unwrap().segments.len(), 3);
}
