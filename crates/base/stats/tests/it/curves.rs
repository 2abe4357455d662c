use stats::ecdf::{Grid, GridError, distance, resampled, shares};
use stats::filter::median_filter;
use stats::sample::{Sample, SampleError};
use stats::spline::{Kind, Spline};

use crate::golden::{assert_near, cases, number, numbers, sample};

const KINDS: [(Kind, &str); 2] = [(Kind::Natural, "natural"), (Kind::Monotone, "monotone")];

#[test]
fn outliers_agree_with_numpy() {
    for case in cases("median_filter") {
        let series = numbers(&case["series"]);
        let width = number(&case["width"]) as usize;
        let found = median_filter(&series, width, number(&case["sigmas"])).unwrap();
        let expected = numbers(&case["filtered"]);
        assert_eq!(found.values, expected);
        let changed = series.iter().zip(&expected).filter(|(a, b)| a != b).count();
        assert_eq!(found.replaced, changed);
    }
    assert_eq!(median_filter(&[], 20, 2.0), Err(SampleError::Empty));
    assert!(median_filter(&[1.0, f64::NAN], 20, 2.0).is_err());
}

#[test]
fn splines_agree_with_scipy() {
    for case in cases("splines") {
        let x = numbers(&case["x"]);
        let at = numbers(&case["at"]);
        for (kind, key) in KINDS {
            let spline = Spline::through(&x, numbers(&case["y"]), kind);
            for (&at, expected) in at.iter().zip(numbers(&case[key])) {
                assert!((spline.value(at) - expected).abs() < 1e-11, "{key} at {at}");
            }
        }
    }
}

#[test]
fn shares_on_bins_agree_with_scipys_splines() {
    for case in cases("ecdf_shares") {
        let sample = sample(&case["values"]);
        let grid = Grid { start: 0.0, step: 1.0, points: number(&case["points"]) as usize };
        for (kind, key) in KINDS {
            let found = shares(&sample, grid, kind);
            for (found, expected) in found.iter().zip(numbers(&case[key])) {
                assert!((found - expected).abs() < 1e-11, "{key}");
            }
        }
    }
}

#[test]
fn a_grid_encloses_its_samples() {
    let [a, b] = [vec![2.3, 7.9], vec![-1.2, 4.0]].map(|x| Sample::new(x).unwrap());
    let grid = Grid::enclosing(&[&a, &b], 0.5).unwrap();
    assert_eq!((grid.start, grid.at(grid.points - 1)), (-1.5, 8.0));
    for step in [0.0, -1.0, f64::NAN, 1e-9] {
        assert!(
            matches!(Grid::enclosing(&[&a, &b], step), Err(GridError::TooFine { .. })),
            "{step}"
        );
    }
}

#[test]
fn sample_drawn_from_shares_has_their_distribution() {
    let a = Sample::new((0..1000).map(|i| f64::from(i) * 0.05).collect()).unwrap();
    let grid = Grid::enclosing(&[&a], 1.0).unwrap();
    let of_a = shares(&a, grid, Kind::Monotone);
    let again = resampled(&of_a, grid, 51).unwrap();
    assert_eq!(again.count(), 51);
    for (point, share) in of_a.iter().enumerate() {
        let found = again.count_upto(grid.at(point)) as f64 / 51.0;
        assert!((found - share).abs() <= 0.5 / 51.0 + 1e-12);
    }
    assert_near(distance(&of_a, &vec![0.0; grid.points]), 1.0, 1e-15, "distance");
    assert_eq!(resampled(&of_a, grid, 0), Err(SampleError::Empty));
    // A sample of one value is a step.
    let constant = Sample::counted(vec![(3.0, 9)]).unwrap();
    let grid = Grid { start: 2.0, step: 1.0, points: 3 };
    assert_eq!(shares(&constant, grid, Kind::Natural), [0.0, 1.0, 1.0]);
}
