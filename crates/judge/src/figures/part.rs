//! What a figure of measures is taken from.

use plan::{Basis, Figure, Stat};

use super::Figures;

/// A figure of measures, of one or of several taken as one.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) stat: Stat,
    /// Their places in the run's measures, ascending.
    pub(crate) measures: Vec<usize>,
    pub(crate) basis: Basis,
    pub(crate) phase: Option<usize>,
}

impl Part {
    /// `None` for figures that are not of measures. Without a named measure, all requests are meant.
    pub(crate) fn of(figures: &Figures, figure: &Figure) -> Option<Part> {
        let (stat, basis, phase, measures) = match *figure {
            Figure::Measure {
                stat,
                measure,
                basis,
                phase,
            } => {
                let measures = match measure {
                    Some(measure) => vec![measure.index()],
                    None => figures.requests().collect(),
                };
                (stat, basis, phase, measures)
            }
            Figure::Measures {
                stat,
                ref measures,
                basis,
                phase,
            } => {
                let measures = measures.iter().map(|measure| measure.index());
                (stat, basis, phase, measures.collect())
            }
            Figure::Connected
            | Figure::Users
            | Figure::Refused
            | Figure::Cost
            | Figure::CostPerUserHour
            | Figure::Behind(_)
            | Figure::Wire(_) => return None,
        };
        Some(Part {
            stat,
            measures,
            basis,
            phase,
        })
    }
}
