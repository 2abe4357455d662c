//! Which of many items are wanted more often than others, by the distributions of YCSB: Cooper, Silberstein, Tam,
//! Ramakrishnan and Sears, "Benchmarking Cloud Serving Systems with YCSB" (SoCC 2010), section 4.1.

use crate::rng::Rng;

/// The skew of YCSB's zipfian and latest distributions.
pub const SKEW: f64 = 0.99;
/// The share of the items that YCSB's hotspot distribution draws often.
pub const HOT_ITEMS: f64 = 0.2;
/// The share of the draws that YCSB's hotspot distribution takes from them.
pub const HOT_DRAWS: f64 = 0.8;

/// How often each of some items is drawn. Items are numbers from 0.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub enum Popularity {
    /// Item 0 most often; item i in proportion to (i + 1)^−skew.
    Zipfian {
        /// Above 0 and below 1: the greater, the more often the first ones.
        skew: f64,
    },
    /// [`Zipfian`](Popularity::Zipfian) from the last item backwards.
    Latest {
        /// As that of [`Zipfian`](Popularity::Zipfian).
        skew: f64,
    },
    /// The first items share a part of the draws, all others the rest; within either part all are alike.
    Hotspot {
        /// The share of the items in the first part, 0 to 1.
        items: f64,
        /// The share of the draws that it has, 0 to 1.
        draws: f64,
    },
}

/// A parameter outside of its range.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{parameter} must be {expected}, not {value}")]
pub struct PopularityError {
    /// The parameter in words.
    pub parameter: &'static str,
    /// The condition that it must meet.
    pub expected: &'static str,
    /// Value as given.
    pub value: f64,
}

impl Popularity {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter outside of its range.
    pub fn validate(&self) -> Result<(), PopularityError> {
        let share = |parameter, value| match (0.0..=1.0).contains(&value) {
            true => Ok(()),
            false => Err(PopularityError { parameter, expected: "from 0 to 1", value }),
        };
        match *self {
            Popularity::Zipfian { skew } | Popularity::Latest { skew } => {
                let expected = "above 0 and below 1";
                match skew > 0.0 && skew < 1.0 {
                    true => Ok(()),
                    false => Err(PopularityError { parameter: "the skew", expected, value: skew }),
                }
            }
            Popularity::Hotspot { items, draws } => {
                share("the share of hot items", items)?;
                share("the share of draws from them", draws)
            }
        }
    }

    /// Draws one of `count` items, in constant time for any count. Only for parameters that
    /// [`validate`](Self::validate) accepts; else the result means nothing.
    ///
    /// # Panics
    /// If `count` is 0.
    pub fn draw(&self, count: u64, rng: &mut Rng) -> u64 {
        assert!(count > 0, "there is no item to draw");
        match *self {
            Popularity::Zipfian { skew } => Zipfian::new(count, skew).item(rng.unit()),
            Popularity::Latest { skew } => count - 1 - Zipfian::new(count, skew).item(rng.unit()),
            Popularity::Hotspot { items, draws } => {
                let hot = ((count as f64 * items) as u64).min(count);
                // Where one part is empty, all items are in the other.
                match rng.unit() < draws {
                    true if hot > 0 => rng.below(hot),
                    false if hot < count => hot + rng.below(count - hot),
                    _ => rng.below(count),
                }
            }
        }
    }
}

/// The generator of Gray, Sundaresan, Englert, Baclawski and Weinberger, "Quickly Generating Billion-Record Synthetic
/// Databases" (SIGMOD 1994), section 3.2, as YCSB has it: items 0 and 1 have exactly the probabilities of Zipf's law, the
/// others those of a curve close to it.
struct Zipfian {
    count: u64,
    skew: f64,
    /// ζ(count, skew): the sum of i^−skew for i from 1 to count.
    zeta: f64,
    eta: f64,
}

impl Zipfian {
    fn new(count: u64, skew: f64) -> Zipfian {
        let items = count as f64;
        let zeta = zeta(count, skew);
        let eta = (1.0 - (2.0 / items).powf(1.0 - skew)) / (1.0 - self::zeta(2, skew) / zeta);
        Zipfian { count, skew, zeta, eta }
    }

    /// The item at this place of `[0, 1)`.
    fn item(&self, unit: f64) -> u64 {
        let at = unit * self.zeta;
        if at < 1.0 {
            return 0;
        }
        if at < 1.0 + 0.5_f64.powf(self.skew) {
            return 1;
        }
        let share = (self.eta * unit - self.eta + 1.0).powf(1.0 / (1.0 - self.skew));
        // Rounding may reach the count itself.
        ((self.count as f64 * share) as u64).min(self.count - 1)
    }
}

/// The sum of i^−skew for i from 1 to `count`: the first terms one by one, the others by the formula of Euler and
/// Maclaurin (Abramowitz and Stegun 1964, 23.1.30) to the third derivative, which is exact to nine digits.
fn zeta(count: u64, skew: f64) -> f64 {
    /// The first term of those that are not added one by one.
    const FROM: u64 = 10;
    let sum = |end: u64| (1..end).map(|i| (i as f64).powf(-skew)).sum::<f64>();
    if count <= FROM {
        return sum(count + 1);
    }
    let first = FROM as f64;
    let last = count as f64;
    let difference = |power: f64| first.powf(power) - last.powf(power);
    let integral = -difference(1.0 - skew) / (1.0 - skew);
    let ends = (first.powf(-skew) + last.powf(-skew)) / 2.0;
    let slope = skew / 12.0 * difference(-skew - 1.0);
    let third = skew * (skew + 1.0) * (skew + 2.0) / 720.0 * difference(-skew - 3.0);
    sum(FROM) + integral + ends + slope - third
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;
    use crate::tail::chi_squared_above;

    const DRAWS: u64 = 200_000;
    /// Tests draw the same numbers each time, so this is no rate of false alarms.
    const P_MIN: f64 = 1e-4;

    /// P(χ² of as many draws or more), with the probability of each item.
    fn p_of(popularity: Popularity, expected: &[f64]) -> f64 {
        popularity.validate().unwrap();
        let count = expected.len() as u64;
        let mut rng = Rng::new(20_101_994, count, Purpose::Value);
        let mut counts = vec![0_u64; expected.len()];
        for _ in 0..DRAWS {
            counts[popularity.draw(count, &mut rng) as usize] += 1;
        }
        let total: f64 = expected.iter().sum();
        assert!((total - 1.0).abs() < 1e-9, "{total}");
        let chi: f64 = counts
            .iter()
            .zip(expected)
            .filter(|(_, probability)| **probability > 0.0)
            .map(|(count, probability)| {
                let mean = probability * DRAWS as f64;
                (*count as f64 - mean).powi(2) / mean
            })
            .sum();
        let cells = expected.iter().filter(|probability| **probability > 0.0).count();
        chi_squared_above(chi, (cells - 1) as f64)
    }

    /// The probability of each item by Gray's formulas, which are solved for the place where each item begins.
    fn gray(count: u64, skew: f64) -> Vec<f64> {
        let zipfian = Zipfian::new(count, skew);
        let below = |item: u64| match item {
            0 => 0.0,
            1 => 1.0 / zipfian.zeta,
            2 => (1.0 + 0.5_f64.powf(skew)) / zipfian.zeta,
            _ if item == count => 1.0,
            _ => {
                let share = (item as f64 / count as f64).powf(1.0 - skew);
                (share - 1.0 + zipfian.eta) / zipfian.eta
            }
        };
        (0..count).map(|item| below(item + 1) - below(item)).collect()
    }

    #[test]
    fn zipfian_items_are_drawn_as_the_formulas_say() {
        for (count, skew) in [(2, 0.99), (3, 0.5), (100, SKEW), (1000, 0.5), (1000, SKEW)] {
            let expected = gray(count, skew);
            let p = p_of(Popularity::Zipfian { skew }, &expected);
            assert!(p > P_MIN, "{count} {skew}: {p}");
            let backwards: Vec<f64> = expected.into_iter().rev().collect();
            let p = p_of(Popularity::Latest { skew }, &backwards);
            assert!(p > P_MIN, "latest of {count} {skew}: {p}");
        }
    }

    #[test]
    fn the_formulas_are_close_to_zipfs_law() {
        for count in [10, 1000, 100_000] {
            let sum: f64 = (1..=count).map(|i| (i as f64).powf(-SKEW)).sum();
            for (item, probability) in gray(count, SKEW).into_iter().enumerate() {
                let law = (item as f64 + 1.0).powf(-SKEW) / sum;
                let error = if item < 2 { 1e-8 } else { 0.35 };
                assert!((probability / law - 1.0).abs() < error, "{count} {item}: {probability}");
            }
        }
    }

    #[test]
    fn hot_items_have_their_share_of_the_draws() {
        let hot = Popularity::Hotspot { items: HOT_ITEMS, draws: HOT_DRAWS };
        let mut expected = vec![0.8 / 20.0; 20];
        expected.extend([0.2 / 80.0; 80]);
        let p = p_of(hot, &expected);
        assert!(p > P_MIN, "{p}");
        // A part without items has no draws.
        for (items, draws) in [(0.0, 0.8), (0.01, 0.8), (1.0, 0.3)] {
            let p = p_of(Popularity::Hotspot { items, draws }, &[0.1; 10]);
            assert!(p > P_MIN, "{items}: {p}");
        }
    }

    /// YCSB's own constant: ζ of 10,000,000,000 items, which its scrambled generator holds.
    #[test]
    fn the_sum_is_that_of_its_terms() {
        assert!((zeta(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs() < 1e-6);
        for skew in [0.01, 0.5, 0.99, 0.999_9] {
            for count in [1, 2, 9, 10, 11, 12, 100, 12_345] {
                let exact: f64 = (1..=count).map(|i| (i as f64).powf(-skew)).sum();
                assert!((zeta(count, skew) / exact - 1.0).abs() < 1e-8, "{count} {skew}");
            }
        }
    }

    #[test]
    fn any_count_has_a_draw_within_it() {
        for count in [1, 2, 3, 10, 11, 1 << 40, u64::MAX] {
            for skew in [1e-6, 0.5, 0.99, 0.999_999] {
                let zipfian = Zipfian::new(count, skew);
                for unit in [0.0, 0.25, 0.5, 0.999, 1.0 - f64::EPSILON / 2.0] {
                    assert!(zipfian.item(unit) < count, "{count} {skew} {unit}");
                }
            }
        }
    }

    #[test]
    fn parameters_have_ranges() {
        for skew in [0.0, 1.0, 1.2, -0.5, f64::NAN] {
            assert!(Popularity::Zipfian { skew }.validate().is_err(), "{skew}");
        }
        let error = Popularity::Hotspot { items: 0.2, draws: 80.0 }.validate().unwrap_err();
        assert_eq!(error.to_string(), "the share of draws from them must be from 0 to 1, not 80");
    }
}
