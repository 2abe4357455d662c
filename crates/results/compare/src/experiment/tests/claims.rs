//! Means side by side with intervals, and claims held against them.

use super::*;

/// Means of two levels with these values, in a unit.
fn two(values: [&[f64]; 2], unit: Unit, multiplicative: bool) -> Bars {
    let times = values[0].len().max(values[1].len());
    let value = |cell: &[usize], time: usize| values[cell[0]].get(time).copied();
    let mut data = data(&[2], times, value);
    data.responses[0].unit = unit;
    data.responses[0].multiplicative = multiplicative;
    analyze(&data).responses.remove(0).bars
}

/// Low end, mean and high end of each bar of the only group, in thousandths.
fn ends(bars: &Bars) -> Vec<[f64; 3]> {
    let [group] = &bars.groups[..] else {
        panic!("{} groups", bars.groups.len());
    };
    let round = |value: f64| (1e3 * value).round() / 1e3;
    let ends = |bar: &Bar| [bar.low.unwrap(), bar.mean, bar.high.unwrap()].map(round);
    group.bars.iter().map(ends).collect()
}

#[test]
fn intervals_are_of_the_scatter_of_all_bars() {
    let bars = two([&[1.0, 2.0, 3.0], &[5.0, 6.0, 7.0]], Unit::Plain, false);
    assert!(bars.groups[0].pooled);
    // Two sums of squares of 2 over four degrees of freedom; t is 2.7764.
    assert_eq!(ends(&bars), [[0.397, 2.0, 3.603], [4.397, 6.0, 7.603]]);
    // A single run has the scatter of the others: 2 over two degrees of freedom, t is 4.3027.
    let bars = two([&[1.0, 2.0, 3.0], &[6.0]], Unit::Plain, false);
    assert_eq!(ends(&bars), [[-0.484, 2.0, 4.484], [1.697, 6.0, 10.303]]);
    // There is no share below 0 or above 1.
    let bars = two([&[0.1, 0.2, 0.3], &[0.8, 0.9, 1.0]], Unit::Share, false);
    assert_eq!(ends(&bars), [[0.04, 0.2, 0.36], [0.74, 0.9, 1.0]]);
}

#[test]
fn intervals_are_of_each_bar_if_the_scatter_differs() {
    let narrow = [1.0, 1.01, 0.99, 1.02, 0.98];
    let wide = [0.0, 100.0, 50.0, 20.0, 80.0];
    let bars = two([&narrow, &wide], Unit::Nanoseconds, false);
    assert!(!bars.groups[0].pooled);
    // Of the second, 50 − 51.2 would be a time below 0.
    assert_eq!(ends(&bars), [[0.98, 1.0, 1.02], [0.0, 50.0, 101.195]]);
}

#[test]
fn means_of_a_multiplicative_model_are_geometric() {
    let bars = two([&[1.0, 10.0, 100.0], &[10.0, 100.0, 1000.0]], Unit::Plain, true);
    let means: Vec<f64> = bars.groups[0].bars.iter().map(|bar| bar.mean).collect();
    assert!((means[0] - 10.0).abs() < 1e-9 && (means[1] - 100.0).abs() < 1e-9, "{means:?}");
    let low = bars.groups[0].bars[0].low.unwrap();
    assert!((low.log10() - (1.0 - 1.602_98)).abs() < 1e-4, "{low}");
}

#[test]
fn without_repetitions_there_are_no_intervals() {
    let bars = two([&[1.0], &[2.0]], Unit::Plain, false);
    let ends = bars.groups[0].bars.iter().map(|bar| (bar.low, bar.high));
    assert_eq!(ends.collect::<Vec<_>>(), [(None, None); 2]);
}

/// Three policies by two numbers of users. With few users all are at 1 s; with many they are apart.
fn policies() -> Data {
    let value = |cell: &[usize], time: usize| {
        let apart = [[1.0, 1.0, 1.0], [1.0, 3.0, 2.0]];
        Some(1e9 * apart[cell[1]][cell[0]] + 1e7 * noise(cell, time))
    };
    let mut data = data(&[3, 2], 3, value);
    data.factors = vec![
        ("policy".to_owned(), ["random", "hash", "least"].map(str::to_owned).to_vec()),
        ("users".to_owned(), ["250", "500"].map(str::to_owned).to_vec()),
    ];
    data
}

/// What comes of an order of policies, at one number of users or at all.
fn claimed(mut data: Data, order: &[&[usize]], users: Option<usize>) -> (ClaimFigures, Analysis) {
    data.responses[0].published.claims = vec![Claim {
        text: String::new(),
        factor: 0,
        order: order.iter().map(|group| group.to_vec()).collect(),
        at: vec![None, users],
    }];
    let analysis = analyze(&data);
    let published = analysis.responses[0].published.clone();
    (published.unwrap().claims.remove(0), analysis)
}

fn verdicts(claim: &ClaimFigures) -> Vec<ClaimVerdict> {
    claim.places.iter().map(|place| place.verdict).collect()
}

#[test]
fn a_claim_holds_where_all_intervals_part() {
    use ClaimVerdict::{DoesNotHold, Holds, NotSeparable};
    let (claim, analysis) = claimed(policies(), &[&[1], &[2], &[0]], Some(1));
    assert_eq!((claim.order.as_str(), claim.verdict), ("hash > least > random", Holds));
    assert_eq!(claim.places[0].levels, [None, Some(1)]);
    // The closest of three pairs.
    let why = &claim.places[0].why;
    assert!(why.starts_with("hash 3.00 s (") && why.contains(") is above least 2.00 s ("), "{why}");
    assert_eq!(text(&analysis, "published-claims"), "of 1 published claim: 1 holds");
    assert_eq!(analysis.responses[0].bars.factor, 0);
    // Levels of one list are not compared with each other.
    let (claim, _) = claimed(policies(), &[&[1, 2], &[0]], Some(1));
    assert_eq!(claim.verdict, Holds);
    // At few users nothing is apart, and the claim is as good as the worst of its places.
    let (claim, _) = claimed(policies(), &[&[1], &[2, 0]], None);
    assert_eq!((claim.verdict, verdicts(&claim)), (NotSeparable, vec![NotSeparable, Holds]));
    assert!(
        claim.places[0].why.starts_with("2 of 2 pairs overlap: hash "),
        "{}",
        claim.places[0].why
    );
    let (claim, analysis) = claimed(policies(), &[&[2], &[1], &[0]], None);
    assert_eq!((claim.verdict, verdicts(&claim)), (DoesNotHold, vec![NotSeparable, DoesNotHold]));
    assert!(claim.places[1].why.contains(" is below hash 3.00 s ("), "{}", claim.places[1].why);
    assert_eq!(text(&analysis, "published-claims"), "of 1 published claim: 1 does not hold");
}

#[test]
fn a_claim_needs_values_of_all_its_levels() {
    use ClaimVerdict::{Holds, NotMeasured, NotSeparable};
    let order: &[&[usize]] = &[&[1], &[0]];
    let mut data = policies();
    data.rows.retain(|row| row.levels != [1, 1]);
    let (claim, _) = claimed(data, order, Some(1));
    assert_eq!((claim.verdict, claim.places[0].why.as_str()), (NotMeasured, "hash has no value"));
    let mut data = policies();
    for row in data.rows.iter_mut().filter(|row| row.levels == [0, 1]) {
        row.bounds = vec![0];
    }
    let (claim, _) = claimed(data, order, Some(1));
    assert_eq!(claim.places[0].why, "of random only a lower bound is known");
    let mut data = policies();
    data.rows.truncate(6);
    let (claim, _) = claimed(data.clone(), order, Some(1));
    assert_eq!(
        (claim.verdict, claim.places[0].why.as_str()),
        (NotSeparable, "there are no intervals without repetitions")
    );
    data.rows.retain(|row| row.levels[1] == 0);
    let (claim, _) = claimed(data, order, Some(1));
    assert_eq!((claim.verdict, claim.places.len()), (NotMeasured, 0));
    // A level that no claim is about may be missing.
    let mut data = policies();
    data.rows.retain(|row| row.levels[0] != 2);
    assert_eq!(claimed(data, order, Some(1)).0.verdict, Holds);
}

#[test]
fn some_published_values_stand_beside_their_bars() {
    let mut data = policies();
    data.responses[0].published = PublishedResponse {
        source: "elsewhere".to_owned(),
        values: vec![None, Some(5e9), None, None, None, None],
        claims: Vec::new(),
    };
    let found = analyze(&data).responses.remove(0);
    let published = found.published.unwrap();
    assert_eq!((published.mean, published.terms.len()), (None, 0));
    assert_eq!(published.cells, [(vec![1, 0], 5e9)]);
    let values = found.bars.groups.iter().flat_map(|group| &group.bars);
    let values: Vec<Option<f64>> = values.map(|bar| bar.published).collect();
    assert_eq!(values, [None, Some(5e9), None, None, None, None]);
}
