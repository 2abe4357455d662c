//! Polygons whose radii are figures: areas, and what they hang on.
//!
//! With n radii at equal angles the area is ½·sin(2π/n)·Σ xᵢ·xᵢ₊₁, the last one meeting the first.
//! It depends on the order of the radii, and a radius that is much larger than the others decides
//! alone; the functions here show both.

use std::f64::consts::PI;

/// The fewest radii that make a polygon: two enclose nothing.
pub const RADII_MIN: usize = 3;

/// The area of the polygon with these radii in this order; `None` for fewer than [`RADII_MIN`].
pub fn area(radii: &[f64]) -> Option<f64> {
    (radii.len() >= RADII_MIN).then(|| triangle(radii.len()) * adjacent(radii))
}

/// The mean of the areas over all orders of the radii; `None` for fewer than [`RADII_MIN`].
///
/// Over all orders each pair is adjacent equally often, so that the mean of Σ xᵢ·xᵢ₊₁ is n times the
/// mean product of a pair: ((Σx)² − Σx²)/(n − 1).
pub fn mean_area(radii: &[f64]) -> Option<f64> {
    let sum: f64 = radii.iter().sum();
    let squares: f64 = radii.iter().map(|x| x * x).sum();
    let pairs = (sum * sum - squares) / (radii.len() as f64 - 1.0);
    (radii.len() >= RADII_MIN).then(|| triangle(radii.len()) * pairs)
}

/// The least and the greatest area that these radii, none of them negative, have in any order;
/// `None` for fewer than [`RADII_MIN`].
///
/// The orders are known (Hallin, Mélard and Milhaud 1992): for the greatest the radii fall to both
/// sides from the largest, for the least large ones stand between small ones.
pub fn area_range(radii: &[f64]) -> Option<(f64, f64)> {
    let mut falling = radii.to_vec();
    falling.sort_by(|a, b| b.total_cmp(a));
    Some((area(&zigzag(&falling))?, area(&pendulum(&falling))?))
}

/// By how many per cent the area changes when a radius changes by one: its derivative times
/// xᵢ/area. They add up to 2. `None` for fewer than [`RADII_MIN`] and where the area is 0.
pub fn elasticities(radii: &[f64]) -> Option<Vec<f64>> {
    let n = radii.len();
    let sum = adjacent(radii);
    if n < RADII_MIN || sum == 0.0 {
        return None;
    }
    let of = |at: usize| radii[at] * (radii[(at + n - 1) % n] + radii[(at + 1) % n]) / sum;
    Some((0..n).map(of).collect())
}

/// The weighted geometric mean, Π rᵢ^wᵢ with the weights scaled to a sum of 1; `None` where there is
/// no weight, or a ratio is negative or not finite. A ratio of 0 makes it 0.
///
/// It is the only mean of ratios to a reference that puts things in the same order whatever the reference (Fleming
/// and Wallace 1986; Aczél and Saaty 1983), and the elasticity of each input is its weight.
pub fn geometric_mean(ratios_and_weights: &[(f64, f64)]) -> Option<f64> {
    let weights: f64 = ratios_and_weights.iter().map(|pair| pair.1).sum();
    let sound = |pair: &(f64, f64)| pair.0.is_finite() && pair.0 >= 0.0 && pair.1 >= 0.0;
    let all_sound = weights > 0.0 && weights.is_finite() && ratios_and_weights.iter().all(sound);
    if !all_sound {
        return None;
    }
    let counting = ratios_and_weights.iter().filter(|pair| pair.1 > 0.0);
    let logs: f64 = counting.map(|(ratio, weight)| weight * ratio.ln()).sum();
    Some((logs / weights).exp())
}

/// Area of one triangle whose two radii are 1.
fn triangle(n: usize) -> f64 {
    0.5 * (2.0 * PI / n as f64).sin()
}

/// Σ xᵢ·xᵢ₊₁ around the polygon.
fn adjacent(radii: &[f64]) -> f64 {
    let next = radii.iter().cycle().skip(1);
    radii.iter().zip(next).map(|(a, b)| a * b).sum()
}

/// …, 5th, 3rd, 1st, 2nd, 4th, …
fn pendulum(falling: &[f64]) -> Vec<f64> {
    let odd = falling.iter().step_by(2).rev();
    odd.chain(falling.iter().skip(1).step_by(2)).copied().collect()
}

/// From the largest outwards: the smallest two beside it, the next largest two beside these, …
fn zigzag(falling: &[f64]) -> Vec<f64> {
    let mut rest: std::collections::VecDeque<f64> = falling.iter().copied().collect();
    let mut row: std::collections::VecDeque<f64> = rest.pop_front().into_iter().collect();
    let mut large = false;
    while !rest.is_empty() {
        // The end that took the more extreme value before takes the more extreme one again.
        for left in [true, false] {
            let next = if large { rest.pop_front() } else { rest.pop_back() };
            match (next, left) {
                (Some(x), true) => row.push_front(x),
                (Some(x), false) => row.push_back(x),
                (None, _) => {}
            }
        }
        large = !large;
    }
    row.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn areas_by_hand() {
        // A square with half-diagonals 1 has area 2, an equilateral triangle with radius 2 has 3√3.
        assert!((area(&[1.0; 4]).unwrap() - 2.0).abs() < 1e-12);
        assert!((area(&[2.0; 3]).unwrap() - 3.0 * 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(area(&[1.0, 2.0]), None);
        assert_eq!(mean_area(&[1.0, 2.0]), None);
        assert_eq!(area_range(&[]), None);
    }

    #[test]
    fn elasticities_add_up_to_two() {
        let expected = elasticities(&[1.0, 10.0, 1.0, 1.0]).unwrap();
        assert!((expected.iter().sum::<f64>() - 2.0).abs() < 1e-12);
        assert!((expected[1] - 20.0 / 22.0).abs() < 1e-12);
        assert_eq!(elasticities(&[0.0; 4]), None);
    }

    #[test]
    fn geometric_means() {
        assert!((geometric_mean(&[(4.0, 1.0), (1.0, 1.0)]).unwrap() - 2.0).abs() < 1e-12);
        assert!((geometric_mean(&[(8.0, 2.0), (1.0, 1.0)]).unwrap() - 4.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[(0.0, 1.0), (5.0, 1.0)]), Some(0.0));
        assert_eq!(geometric_mean(&[(0.0, 0.0), (5.0, 0.0)]), None);
        assert_eq!(geometric_mean(&[(-1.0, 1.0)]), None);
        assert_eq!(geometric_mean(&[(f64::NAN, 1.0)]), None);
        // An input of no weight does not matter, whatever it is.
        assert!((geometric_mean(&[(0.0, 0.0), (5.0, 1.0)]).unwrap() - 5.0).abs() < 1e-12);
    }

    /// What the shoelace formula and SciPy say, over all orders where need be:
    /// `checks/golden/meters.py`.
    #[test]
    fn results_agree_with_scipy() {
        let golden = include_str!("../../../../testdata/golden/meters.json");
        let golden: serde_json::Value = serde_json::from_str(golden).unwrap();
        let polygons = golden["polygons"].as_array().unwrap();
        assert!(!polygons.is_empty());
        for polygon in polygons {
            let numbers = |key: &str| -> Vec<f64> {
                let list = polygon[key].as_array().unwrap();
                list.iter().map(|number| number.as_f64().unwrap()).collect()
            };
            let near = |found: f64, key: &str, slack: f64| {
                let expected = polygon[key].as_f64().unwrap();
                assert!(
                    (found - expected).abs() <= slack * expected.abs(),
                    "{key}: {found}, {expected}"
                );
            };
            let radii = numbers("radii");
            near(area(&radii).unwrap(), "area", 1e-12);
            near(mean_area(&radii).unwrap(), "mean", 1e-12);
            let (least, most) = area_range(&radii).unwrap();
            near(least, "least", 1e-9);
            near(most, "most", 1e-12);
            let pairs: Vec<_> = radii.iter().copied().zip(numbers("weights")).collect();
            near(geometric_mean(&pairs).unwrap(), "geometric_mean", 1e-12);
            // The script moves each radius by a millionth.
            let moved = elasticities(&radii).unwrap();
            for (found, expected) in moved.iter().zip(numbers("elasticities")) {
                assert!((found - expected).abs() < 1e-5, "{found}, {expected}");
            }
        }
    }

    fn orders(rest: &[f64], so_far: &mut Vec<f64>, each: &mut dyn FnMut(&[f64])) {
        if rest.is_empty() {
            return each(so_far);
        }
        for at in 0..rest.len() {
            let mut others = rest.to_vec();
            so_far.push(others.remove(at));
            orders(&others, so_far, each);
            so_far.pop();
        }
    }

    proptest! {
        #[test]
        fn closed_forms_are_those_of_all_orders(radii in prop::collection::vec(0.0..100f64, 3..8)) {
            let mut least = f64::INFINITY;
            let mut most = 0f64;
            let mut sum = 0.0;
            let mut count = 0.0;
            orders(&radii, &mut Vec::new(), &mut |order| {
                let area = area(order).unwrap();
                (least, most) = (least.min(area), most.max(area));
                (sum, count) = (sum + area, count + 1.0);
            });
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
            let (low, high) = area_range(&radii).unwrap();
            prop_assert!(close(low, least), "{low} {least}");
            prop_assert!(close(high, most), "{high} {most}");
            prop_assert!(close(mean_area(&radii).unwrap(), sum / count));
        }
    }
}
