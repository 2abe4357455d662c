//! Terms of a design, and which of them are aliased.

use std::collections::HashMap;

use super::Observation;

/// A term that is aliased with another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// Factors of the term, from 0, in rising order.
    pub factors: Vec<usize>,
    /// Whether its effect has the opposite sign.
    pub negative: bool,
}

/// A term that the model may contain.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) factors: Vec<usize>,
    pub(super) aliases: Vec<Alias>,
    /// Degrees of freedom: how many columns it has.
    pub(super) df: usize,
    pub(super) is_of_two_levels: bool,
}

/// All terms that a model may contain.
pub(super) struct Candidates {
    /// Those of fewer factors first.
    pub(super) terms: Vec<Candidate>,
    pub(super) mean_aliases: Vec<Alias>,
}

impl Candidate {
    fn new(factors: Vec<usize>, levels_count: &[usize]) -> Candidate {
        let of = factors.iter().map(|&factor| levels_count[factor]);
        Candidate {
            df: of.clone().fold(1, |df: usize, count| df.saturating_mul(count - 1)),
            is_of_two_levels: of.clone().all(|count| count == 2),
            factors,
            aliases: Vec::new(),
        }
    }

    /// The products of its factors' columns.
    pub(super) fn columns(
        &self,
        levels_count: &[usize],
        observations: &[Observation],
    ) -> Vec<Vec<f64>> {
        let mut columns = vec![vec![1.0; observations.len()]];
        for &factor in &self.factors {
            let mut next = Vec::new();
            for column in &columns {
                for number in 0..levels_count[factor] - 1 {
                    let rows = column.iter().zip(observations);
                    next.push(
                        rows.map(|(x, o)| x * column_value(o.levels[factor], number)).collect(),
                    );
                }
            }
            columns = next;
        }
        columns
    }
}

/// The value of a level in one of its factor's columns: column j is 1 at level j + 1 and −1 at level 0, so that the
/// effects of all levels add up to 0. With two levels these are the signs.
pub(super) fn column_value(level: usize, column: usize) -> f64 {
    match level {
        0 => -1.0,
        level if level == column + 1 => 1.0,
        _ => 0.0,
    }
}

/// The terms of a design. Where all factors have two levels, of terms whose signs agree in all
/// cells the one of fewest factors stands for all.
pub(super) fn candidates(levels_count: &[usize], observations: &[Observation]) -> Candidates {
    let mut subsets: Vec<Vec<usize>> = (1_usize..1 << levels_count.len())
        .map(|bits| (0..levels_count.len()).filter(|f| bits >> f & 1 == 1).collect())
        .collect();
    subsets.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    let all = subsets.into_iter().map(|factors| Candidate::new(factors, levels_count));
    if levels_count.iter().any(|&count| count != 2) {
        return Candidates { terms: all.collect(), mean_aliases: Vec::new() };
    }
    distinct_terms(all, observations)
}

fn distinct_terms(
    all: impl Iterator<Item = Candidate>,
    observations: &[Observation],
) -> Candidates {
    let mut cells: Vec<usize> = observations.iter().map(|o| bits(&o.levels)).collect();
    cells.sort_unstable();
    cells.dedup();
    let mut found = Candidates { terms: Vec::new(), mean_aliases: Vec::new() };
    // By signs, of which the first is made positive: which term has them, and what its first was.
    let mut known: HashMap<Vec<bool>, (Option<usize>, bool)> = HashMap::new();
    known.insert(vec![false; cells.len()], (None, false));
    for term in all {
        let mask = term.factors.iter().fold(0, |mask, factor| mask | 1 << factor);
        let order = term.factors.len() as u32;
        // The product of signs is negative where an odd number of its factors is low.
        let is_negative = |cell: &usize| (order - (cell & mask).count_ones()) % 2 == 1;
        let first = cells.first().is_some_and(is_negative);
        let signs: Vec<bool> = cells.iter().map(|cell| is_negative(cell) != first).collect();
        match known.get(&signs) {
            None => {
                known.insert(signs, (Some(found.terms.len()), first));
                found.terms.push(term);
            }
            Some(&(owner, owners_first)) => {
                let alias = Alias { factors: term.factors, negative: first != owners_first };
                match owner {
                    Some(owner) => found.terms[owner].aliases.push(alias),
                    None => found.mean_aliases.push(alias),
                }
            }
        }
    }
    found
}

/// Levels 0 and 1 as bits.
fn bits(levels: &[usize]) -> usize {
    let high = levels.iter().enumerate().filter(|(_, level)| **level == 1);
    high.fold(0, |bits, (factor, _)| bits | 1 << factor)
}
