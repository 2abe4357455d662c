//! The scalability law of measured throughputs, as searches, sweeps and experiments show it.

use serde::Serialize;
use stats::usl::{Estimate, Usl, UslError, throughput};

/// A parameter with its lower and upper bound; `None`: there is no upper bound.
pub type Parameter = (f64, f64, Option<f64>);

/// X(N) = λN/(1 + σ(N − 1) + κN(N − 1)).
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Law {
    /// λ: throughput of a load of one.
    pub lambda: Parameter,
    /// σ: contention.
    pub sigma: Parameter,
    /// κ: coherency.
    pub kappa: Parameter,
    /// Throughputs it was fitted to.
    pub points: usize,
    /// The highest load among them; beyond, the law is a guess.
    pub load_max: f64,
    /// Share of the throughputs' scatter that it explains.
    pub r_squared: f64,
    /// The load of greatest throughput; `None`: throughput never falls.
    pub peak: Option<f64>,
    /// Lower bound of the peak; `None`: throughput never falls.
    pub peak_low: Option<f64>,
    /// Upper bound; `None`: there is none.
    pub peak_high: Option<f64>,
    /// Throughput at the peak, or the one that is never passed; `None`: there is none.
    pub limit_per_s: Option<f64>,
}

impl Law {
    /// Fits the law to pairs of load and throughput.
    ///
    /// # Errors
    /// If there are too few different loads, or numbers that are not positive.
    pub fn fit(points: &[(f64, f64)], confidence: f64) -> Result<Law, UslError> {
        let law = Usl::fit(points, confidence)?;
        let finite = |value: f64| value.is_finite().then_some(value);
        let bounded = |of: Estimate| (of.value, of.low, finite(of.high));
        Ok(Law {
            lambda: bounded(law.lambda),
            sigma: bounded(law.sigma),
            kappa: bounded(law.kappa),
            points: points.len(),
            load_max: points.iter().map(|point| point.0).fold(0.0, f64::max),
            r_squared: law.r_squared,
            peak: finite(law.peak.value),
            peak_low: finite(law.peak.low),
            peak_high: finite(law.peak.high),
            limit_per_s: law.limit(),
        })
    }

    /// The law's throughput of a load.
    pub fn at(&self, load: f64) -> f64 {
        throughput(self.lambda.0, self.sigma.0, self.kappa.0, load)
    }

    /// The peak of the law's throughput.
    pub(crate) fn greatest(&self) -> Peak {
        Peak {
            load: self.peak,
            low: self.peak_low,
            high: self.peak_high,
            limit_per_s: self.limit_per_s,
            load_max: self.load_max,
        }
    }
}

/// The peak of a law's throughput; its fields as in [`Law`].
pub(crate) struct Peak {
    pub(crate) load: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) limit_per_s: Option<f64>,
    pub(crate) load_max: f64,
}

impl Peak {
    /// In words. `last`: what the highest load is called.
    pub(crate) fn in_words(&self, last: &str) -> String {
        let short = |value: f64| units::significant(value, 3);
        let most = short(self.load_max);
        let limit =
            self.limit_per_s.map_or(String::new(), |limit| format!(", {}", units::rate(limit)));
        let high = self.high.map_or("no upper bound".to_owned(), short);
        match self.load {
            Some(load) if load > self.load_max => {
                format!("throughput rises up to {most}, {last}")
            }
            Some(load) => format!(
                "throughput is greatest at {} ({} to {high}){limit}",
                short(load),
                short(self.low.unwrap_or(load)),
            ),
            None => format!("throughput does not fall up to {most}, {last}"),
        }
    }
}

/// A parameter with its interval, in words.
pub(crate) fn parameter((value, low, high): Parameter) -> String {
    let number = |x: f64| match x.abs() < 0.001 && x != 0.0 {
        true => format!("{x:.2e}"),
        false => units::significant(x, 3),
    };
    match high {
        Some(high) => format!("{} ({} to {})", number(value), number(low), number(high)),
        None => format!("{} ({} or more)", number(value), number(low)),
    }
}
