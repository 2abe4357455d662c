//! Failures in which the target has no part, among those of all requests.

use record::Outcome;
use record::operations::is_own_failure;

use super::{Cell, Figures};

impl Figures {
    /// All requests as one, and with them what failed and is no request: steps that failed of themselves. Only its
    /// counts are of use.
    pub(crate) fn with_own_failures(&self, phase: Option<usize>) -> Cell {
        let requests: Vec<usize> = self.requests().collect();
        let mut all = self.merged(phase, &requests);
        let measures = 0..self.info.measures.len();
        for measure in measures.filter(|&measure| !self.is_request(measure)) {
            let cell = self.cell(phase, measure);
            for (name, n) in cell.errors() {
                let outcome = Outcome::from_name(name);
                if outcome.is_some_and(|outcome| is_own_failure(self.kind(measure), outcome)) {
                    *all.outcomes.entry(name.to_owned()).or_default() += n;
                }
            }
        }
        all
    }
}
