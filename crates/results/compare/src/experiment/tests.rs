use std::collections::BTreeMap;

use record::schema::Severity;
use scenario::experiment::Table;
use stats::rng::{Purpose, Rng};

use super::*;

mod claims;

/// A design of factors with these levels, each cell so often, whose values `value` gives by cell
/// and repetition.
fn data(levels: &[usize], times: usize, value: impl Fn(&[usize], usize) -> Option<f64>) -> Data {
    let mut cells = vec![Vec::new()];
    for &count in levels.iter().rev() {
        cells = cells
            .iter()
            .flat_map(|cell: &Vec<usize>| {
                (0..count).map(move |level| [&[level][..], &cell[..]].concat())
            })
            .collect();
    }
    let rows = (0..times).flat_map(|time| cells.iter().map(move |cell| (cell, time)));
    let rows = rows.map(|(cell, time)| Row {
        levels: cell.clone(),
        values: vec![value(cell, time)],
        bounds: Vec::new(),
        run: format!("run {time} of {cell:?}"),
        repetition: 0,
    });
    let names = levels.iter().enumerate().map(|(number, &count)| {
        let names = (0..count).map(|level| format!("l{level}"));
        (format!("factor {number}"), names.collect())
    });
    Data {
        name: "sample".to_owned(),
        factors: names.collect(),
        responses: vec![ResponseData {
            name: "p99(request)".to_owned(),
            unit: Unit::Nanoseconds,
            multiplicative: false,
            published: PublishedResponse::default(),
        }],
        rows: rows.collect(),
        planned: cells.clone(),
        repetitions: times,
        left_out: Vec::new(),
        confidence: 0.95,
        until: None,
    }
}

/// A number in −0.5..0.5 that looks drawn.
fn noise(cell: &[usize], time: usize) -> f64 {
    let key = cell.iter().fold(time + 1, |key, level| key * 31 + level + 7);
    (key as f64 * 0.754_877_666).fract() - 0.5
}

fn codes(analysis: &Analysis) -> Vec<&str> {
    let of_all = analysis.findings.iter();
    let all = of_all.chain(analysis.responses.iter().flat_map(|r| &r.findings));
    all.map(|finding| finding.code.as_str()).collect()
}

fn text<'a>(analysis: &'a Analysis, code: &str) -> &'a str {
    let of_all = analysis.findings.iter();
    let mut all = of_all.chain(analysis.responses.iter().flat_map(|r| &r.findings));
    &all.find(|finding| finding.code == code).expect("a finding of this code").text
}

/// The analysis of one of the tables among the examples.
fn published(text: &str) -> FitFigures {
    let table = Table::read(text, &[]).unwrap();
    let mut data = data(&[2, 2, 2], 1, |_, _| None);
    data.rows = table
        .rows
        .into_iter()
        .map(|row| Row {
            levels: row.levels,
            values: row.values,
            bounds: Vec::new(),
            run: String::new(),
            repetition: 0,
        })
        .collect();
    analyze(&data).responses.remove(0).fit.unwrap()
}

fn percentages(fit: &FitFigures) -> Vec<String> {
    let shares = fit.terms.iter().map(|term| format!("{:.6}", term.share * 100.0));
    shares.collect()
}

/// The columns' totals as they would be printed.
fn totals(fit: &FitFigures, decimals: usize) -> Vec<String> {
    let effects = fit.terms.iter().map(|term| term.effect.unwrap().value);
    let all = std::iter::once(fit.mean.value).chain(effects);
    all.map(|q| format!("{:.decimals$}", q * 8.0)).collect()
}

#[test]
fn lower_bounds_are_named_and_have_no_effects() {
    let value =
        |cell: &[usize], time: usize| Some(1e9 + 1e8 * cell[0] as f64 + 1e6 * noise(cell, time));
    let mut sample = data(&[2, 2], 2, value);
    assert!(analyze(&sample).responses[0].fit.is_some());
    for row in [1, 5] {
        sample.rows[row].bounds = vec![0];
        sample.rows[row].values = vec![Some(1e9)];
    }
    let found = analyze(&sample);
    assert_eq!(codes(&found), ["lower-bounds"]);
    assert_eq!(
        text(&found, "lower-bounds"),
        "of 2 of 8 observations only a lower bound is known, since operations were never answered: run 0 of [1, 0] ≥ \
         1.00 s, run 1 of [1, 0] ≥ 1.00 s; no effects are estimated, which figures of operations that succeeded \
         (name.succeeded) and error rates allow"
    );
    assert_eq!(found.responses[0].fit, None);
    let bounds: Vec<usize> = found.responses[0].cells.iter().map(|cell| cell.bounds).collect();
    assert_eq!(bounds, [0, 2, 0, 0]);
    assert_eq!(found.responses[0].cells[1].deviation, None);
}

#[test]
fn the_published_throughput_comes_out_to_the_printed_digits() {
    let fit = published(include_str!("../../../../../examples/experiments/queue-throughput.csv"));
    let names: Vec<&str> = fit.terms.iter().map(|term| term.name.as_str()).collect();
    assert_eq!(names, ["A", "B", "C", "AB", "AC", "BC", "ABC"]);
    // The first is printed as 29925.
    assert_eq!(
        totals(&fit, 1),
        ["29924.9", "260.3", "-1701.1", "-5247.1", "-142.1", "132.7", "-5072.3", "256.7"]
    );
    assert_eq!(
        percentages(&fit),
        ["0.120294", "5.137535", "48.880291", "0.035850", "0.031263", "45.677778", "0.116989"]
    );
    let printed = [32.538, -212.637, -655.888, -17.762, 16.587, -634.038, 32.087];
    for (term, printed) in fit.terms.iter().zip(printed) {
        assert!((term.effect.unwrap().value - printed).abs() <= 0.000_501, "{}", term.name);
    }
}

#[test]
fn what_others_measured_is_fitted_by_the_same_model() {
    let theirs = [3909.3, 4040.9, 4851.8, 4784.0, 3896.6, 3966.2, 2174.6, 2301.5];
    let mut data = data(&[2, 2, 2], 3, |cell, time| Some(noise(cell, time)));
    data.responses[0].published.values = theirs.map(Some).to_vec();
    let analysis = analyze(&data);
    let figures = analysis.responses[0].published.as_ref().unwrap();
    let effects = figures.terms.iter().map(|term| term.effect.unwrap());
    let rounded: Vec<String> = effects.map(|q| format!("{q:.2}")).collect();
    assert_eq!(rounded, ["32.54", "-212.64", "-655.89", "-17.76", "16.59", "-634.04", "32.09"]);
    assert!((figures.mean.unwrap() - 3740.6125).abs() < 1e-9);
    assert_eq!(figures.cells[1], (vec![1, 0, 0], 4040.9));
    // Half a design has no place for them.
    data.planned.truncate(4);
    assert_eq!(analyze(&data).responses[0].published, None);
}

#[test]
fn what_others_measured_follows_the_model_of_the_runs() {
    let mut data = data(&[2, 2], 3, |cell, time| Some(noise(cell, time)));
    data.responses[0].multiplicative = true;
    data.responses[0].published.values = [1.0, 10.0, 100.0, 1000.0].map(Some).to_vec();
    // Some values of the runs are negative: both models are additive.
    let analysis = analyze(&data);
    assert_eq!(analysis.responses[0].model, "additive");
    let mean = |analysis: &Analysis| analysis.responses[0].published.as_ref()?.mean;
    assert_eq!(mean(&analysis), Some(277.75));
    for row in &mut data.rows {
        row.values = vec![row.values[0].map(|value| value + 1.0)];
    }
    let analysis = analyze(&data);
    assert_eq!(analysis.responses[0].model, "multiplicative");
    assert!((mean(&analysis).unwrap() - 1.5).abs() < 1e-12);
    data.responses[0].published.values[0] = Some(0.0);
    assert_eq!(mean(&analyze(&data)), None);
}

#[test]
fn the_published_response_times_do_not_sum_to_their_totals() {
    let text = include_str!("../../../../../examples/experiments/queue-response.csv");
    assert_eq!(
        totals(&published(text), 4),
        ["123.8687", "2.1507", "-26.3513", "64.2253", "-0.7673", "1.8673", "-31.2547", "-2.0507"]
    );
    // Three responses are others than those that were summed.
    let summed =
        text.replace("6.9675", "6.9592").replace("6.7175", "6.9183").replace("7.8725", "7.9767");
    let printed = [124.1654, 2.2556, -26.4396, 63.9286, -1.0806, 1.7624, -31.1664, -1.7374];
    for (found, printed) in totals(&published(&summed), 6).iter().zip(printed) {
        let found: f64 = found.parse().unwrap();
        assert!((found - printed).abs() < 0.000_15, "{found}, not {printed}");
    }
    // The printed shares follow from the printed totals, as exactly as these are printed.
    let square: f64 = printed[1..].iter().map(|total| total * total).sum();
    let shares = [0.088181, 12.116054, 70.833924, 0.020240, 0.053834, 16.835450, 0.052316];
    for (total, share) in printed[1..].iter().zip(shares) {
        assert!((total * total / square * 100.0 - share).abs() < 0.000_05);
    }
}

#[test]
fn effects_are_reported_with_names_and_the_largest_first() {
    let found = analyze(&data(&[2, 2], 3, |cell, time| {
        Some(1e6 * (10.0 + 2.0 * cell[0] as f64 + 8.0 * cell[1] as f64 + noise(cell, time)))
    }));
    assert_eq!(codes(&found), ["variation", "residuals"]);
    let message = text(&found, "variation");
    assert!(message.starts_with("B (factor 1) explains 9"), "{message}");
    let fit = found.responses[0].fit.as_ref().unwrap();
    let b = fit.terms[1].effect.unwrap();
    assert!(b.low.unwrap() < 4e6 && 4e6 < b.high.unwrap());
    assert!(fit.shares_add_up);
    let means = &fit.interactions[0].means;
    assert!(means[1][1].unwrap() > means[0][0].unwrap());
    assert_eq!(fit.terms[0].levels.len(), 2);
}

#[test]
fn missing_cells_are_named_and_nothing_is_invented() {
    let mut data = data(&[2, 2], 2, |cell, time| {
        Some(1e6 * (10.0 + cell[0] as f64 + 3.0 * cell[1] as f64) + noise(cell, time))
    });
    data.rows.retain(|row| row.levels != [1, 1]);
    data.left_out.push(LeftOut {
        run: "run 3 (l1, l1)".to_owned(),
        why: "the target did not start".to_owned(),
    });
    let found = analyze(&data);
    let all = codes(&found);
    assert_eq!(all[..2], ["runs-missing", "runs-left-out"]);
    assert!(all.contains(&"interactions-not-estimable") && all.contains(&"unbalanced"), "{all:?}");
    assert_eq!(text(&found, "runs-missing"), "2 of 8 planned runs are missing: A=l1 B=l1 (0 of 2)");
    let fit = found.responses[0].fit.as_ref().unwrap();
    assert_eq!(fit.terms.len(), 2);
    assert_eq!(fit.interactions[0].means[1][1], None);
    assert_eq!(found.missing[0].found, 0);
}

#[test]
fn a_level_that_was_never_measured_costs_its_factor() {
    let mut data = data(&[2, 3], 2, |cell, time| Some(cell[1] as f64 + noise(cell, time)));
    data.rows.retain(|row| row.levels[0] == 0);
    let found = analyze(&data);
    assert!(codes(&found).contains(&"factor-constant"));
    let fit = found.responses[0].fit.as_ref().unwrap();
    assert_eq!(fit.terms.len(), 1);
    assert_eq!((fit.terms[0].name.as_str(), fit.terms[0].levels.len()), ("B", 3));
    // One level of three is missing: the other two are reported by their own names.
    data.rows.retain(|row| row.levels[1] != 1);
    let found = analyze(&data);
    let fit = found.responses[0].fit.as_ref().unwrap();
    let names: Vec<&str> = fit.terms[0].levels.iter().map(|l| l.level.as_str()).collect();
    assert_eq!(names, ["l0", "l2"]);
}

#[test]
fn what_cannot_be_analysed_says_why() {
    let constant = analyze(&data(&[2, 2], 2, |_, _| Some(5.0)));
    assert_eq!(codes(&constant), ["constant"]);
    assert!(constant.responses[0].fit.is_none());
    let nothing = analyze(&data(&[2, 2], 2, |_, _| None));
    assert_eq!(
        codes(&nothing),
        ["runs-missing", "values-missing", "factor-constant", "not-analysed"]
    );
    assert!(text(&nothing, "not-analysed").contains("nothing to compare"));
    let none = Data { rows: Vec::new(), ..data(&[2], 1, |_, _| None) };
    assert_eq!(codes(&analyze(&none)), ["runs-missing", "factor-constant", "not-analysed"]);
    let once = analyze(&data(&[2, 2], 1, |cell, time| Some(1.0 + noise(cell, time))));
    assert_eq!(codes(&once), ["variation", "no-repetitions"]);
}

#[test]
fn some_values_missing_leave_the_others() {
    let found = analyze(&data(&[2], 4, |cell, time| {
        (time > 0 || cell[0] > 0).then(|| 10.0 * (1.0 + cell[0] as f64) + noise(cell, time))
    }));
    assert!(codes(&found).contains(&"values-missing"));
    assert_eq!(found.responses[0].cells[0].values.len(), 3);
    assert!(found.responses[0].fit.is_some());
}

/// Jain (1991), example 18.4's data with multiplicative effects: seconds of a workload on two
/// processors, each three times.
const SECONDS: [[f64; 3]; 4] = [
    [85.10, 79.50, 147.90],
    [0.891, 1.047, 1.072],
    [0.955, 0.933, 1.122],
    [0.0148, 0.0126, 0.0118],
];

#[test]
fn effects_may_multiply() {
    let mut data = data(&[2, 2], 3, |cell, time| Some(SECONDS[cell[0] + 2 * cell[1]][time]));
    let added = analyze(&data);
    let all = codes(&added);
    assert!(all.contains(&"try-logarithms"), "{all:?}");
    data.responses[0].multiplicative = true;
    let found = analyze(&data);
    let response = &found.responses[0];
    assert_eq!(response.model, "multiplicative");
    let fit = response.fit.as_ref().unwrap();
    let shares: Vec<String> = fit.terms.iter().map(|t| format!("{:.1}", t.share * 100.0)).collect();
    assert_eq!(shares, ["49.9", "49.9", "0.0"]);
    let effects: Vec<String> =
        fit.terms.iter().map(|t| format!("{:.2}", t.effect.unwrap().value)).collect();
    assert_eq!(effects[..2], ["-0.97", "-0.97"]);
    // Cells keep the values as they were measured.
    assert_eq!(response.cells[0].values, SECONDS[0]);
    data.rows[0].values[0] = Some(0.0);
    let zero = analyze(&data);
    assert_eq!(zero.responses[0].model, "additive");
    assert!(codes(&zero).contains(&"not-positive"));
}

/// The quotient of two finite numbers is no figure where it is infinite or has a hundred digits.
#[test]
fn quotients_of_extremes_are_bounds() {
    for least in [f64::MIN_POSITIVE, 1e-90] {
        let found = analyze(&data(&[2], 3, |cell, time| match cell[0] {
            0 => Some(least),
            _ => Some(1e10 + time as f64),
        }));
        let message = text(&found, "try-logarithms");
        assert!(message.starts_with("the largest value is more than 1,000,000 times"), "{message}");
    }
}

#[test]
fn spreads_that_grow_with_the_mean_are_found() {
    let found = analyze(&data(&[6], 4, |cell, time| {
        let size = 2_f64.powi(cell[0] as i32);
        Some(size * (10.0 + noise(cell, time)))
    }));
    let message = text(&found, "spread-follows-size");
    assert!(message.contains("a multiplicative model may fit better"), "{message}");
    assert!(codes(&found).contains(&"try-logarithms"));
}

/// Four numbers in pairs: sizes of residuals are what they are by how residuals are made.
#[test]
fn pairs_say_nothing_of_their_spread() {
    let values = [[500.0, 520.0], [400.0, 410.0]];
    let found = analyze(&data(&[2], 2, |cell, time| Some(values[cell[0]][time])));
    assert_eq!(codes(&found), ["variation", "residuals"]);
}

#[test]
fn checks_of_residuals_warn_of_noise_one_time_in_twenty_at_most() {
    const ROUNDS: u64 = 400;
    // Four standard deviations above the level.
    const MOST: usize = 37;
    for (seed, cells, times) in [(1, 2, 2), (2, 4, 2), (3, 8, 2), (4, 2, 3), (5, 6, 3), (6, 7, 5)] {
        let mut warned: BTreeMap<String, usize> = BTreeMap::new();
        for round in 0..ROUNDS {
            let mut rng = Rng::new(seed, round, Purpose::Value);
            // Box and Muller (1958).
            let mut normal = || {
                let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
                radius * (std::f64::consts::TAU * rng.unit()).cos()
            };
            let drawn: Vec<f64> = (0..cells * times).map(|_| normal()).collect();
            let found = analyze(&data(&[cells], times, |cell, time| {
                Some(100.0 + drawn[cell[0] + cells * time])
            }));
            for finding in &found.responses[0].findings {
                if finding.severity == Severity::Warning {
                    *warned.entry(finding.code.clone()).or_default() += 1;
                }
            }
        }
        assert!(
            warned.values().all(|count| *count <= MOST),
            "{cells} × {times}: {warned:?} of {ROUNDS}"
        );
    }
}

#[test]
fn a_machine_that_changes_meanwhile_is_found() {
    let found = analyze(&data(&[2, 2], 6, |cell, time| {
        Some(100.0 + 5.0 * cell[0] as f64 + 2.0 * time as f64 + noise(cell, time))
    }));
    assert!(codes(&found).contains(&"drift"));
}

#[test]
fn repetitions_that_do_not_differ_leave_nothing() {
    let found = analyze(&data(&[2, 2], 3, |cell, _| Some(0.1 + 0.2 * cell[0] as f64)));
    assert_eq!(codes(&found), ["variation", "no-errors"]);
    let fit = found.responses[0].fit.as_ref().unwrap();
    assert_eq!(fit.terms[1].effect.unwrap().value, 0.0);
    assert_eq!(fit.error.unwrap().ss, 0.0);
    assert_eq!(text(&found, "variation"), "A (factor 0) explains 100 % of the variation");
}

#[test]
fn fractions_report_what_is_confounded() {
    let mut data =
        data(&[2, 2, 2, 2], 2, |cell, time| Some(1.0 + cell[3] as f64 + noise(cell, time)));
    let keeps = |cell: &[usize]| cell.iter().sum::<usize>() % 2 == 0;
    data.rows.retain(|row| keeps(&row.levels));
    data.planned.retain(|cell| keeps(cell));
    let found = analyze(&data);
    assert_eq!(found.confounded, ["ABCD"]);
    let fit = found.responses[0].fit.as_ref().unwrap();
    let message: Vec<_> =
        fit.terms.iter().map(|t| format!("{}+{}", t.name, t.aliases.join("+"))).collect();
    assert_eq!(message, ["A+BCD", "B+ACD", "C+ABD", "D+ABC", "AB+CD", "AC+BD", "AD+BC"]);
}

/// Throughput of SPEC SDM91 by users (Gunther 2007, chapter 5) and the coefficients printed there; twice as much by the
/// second level of the other factor.
#[test]
fn throughput_by_a_factor_that_counts_has_a_scalability_law() {
    const USERS: [&str; 7] = ["1", "18", "36", "72", "108", "144", "216"];
    const PER_S: [f64; 7] = [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2];
    let mut data = data(&[7, 2], 1, |cell, _| Some(PER_S[cell[0]] * (1 + cell[1]) as f64));
    assert_eq!(analyze(&data).responses[0].scaling, []);
    data.factors[0].1 = USERS.map(str::to_owned).to_vec();
    assert_eq!(analyze(&data).responses[0].scaling, []);
    data.responses[0].unit = Unit::PerSecond;
    let analysis = analyze(&data);
    let [once, twice] = &analysis.responses[0].scaling[..] else {
        panic!("{:?}", analysis.responses[0].scaling);
    };
    assert_eq!((once.factor, &once.others[..]), (0, &[None, Some(0)][..]));
    assert!((once.sigma - 0.0277).abs() < 1e-4 && (once.kappa - 0.000_104).abs() < 1e-6);
    assert!((twice.lambda / once.lambda - 2.0).abs() < 1e-6);
    let peak = [once.peak, once.peak_low, once.peak_high].map(Option::unwrap);
    for (found, expected) in peak.into_iter().zip([96.5, 77.9, 156.7]) {
        assert!((found - expected).abs() < 0.1, "{peak:?}");
    }
    let text = text(&analysis, "scalability");
    assert!(
        text.starts_with(
            "throughput is greatest at 96.5 (77.9 to 157), 1,884/s, by factor 0 (factor 1 l0)"
        ),
        "{text}"
    );
}
