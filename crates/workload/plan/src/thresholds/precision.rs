//! Reading figures that are to be known, and how well: `p95(checkout) ± 2%`.

use super::error::FigureError;
use super::parse::{Names, inside_parentheses, trimmed};
use super::{Figure, PreciseFigure, Precision, Stat};
use units::parse;

/// Signs before how precise a figure is to be.
const SIGNS: [&str; 3] = ["±", "+/-", "+-"];
/// Least and greatest share: histograms are not as exact as the one, and beyond the other nothing is known.
const SHARE_MIN: f64 = 0.005;
const SHARE_MAX: f64 = 0.5;

const FORM: &str = "write it like `p95(checkout) ± 2%` or `p50 ± 5ms`";

impl Names<'_> {
    /// Compiles a percentile of measures, how precise it is to be, and perhaps its phase: `p95(checkout) ± 2% in hold`.
    pub fn precise(&self, text: &str) -> Result<PreciseFigure, FigureError> {
        // Names of measures may have one.
        let found = SIGNS.iter().find_map(|sign| {
            let mut places = text.match_indices(sign).map(|(at, _)| at);
            Some((places.find(|&at| !inside_parentheses(text, at))?, sign.len()))
        });
        let Some((at, length)) = found else {
            let message = "this does not say how precise a figure is to be";
            return Err(FigureError::new(0..text.len(), message).hint(FORM));
        };
        let left = trimmed(text, 0..at);
        let right = trimmed(text, at + length..text.len());
        let (value, phase) = self.phase(text, right)?;
        let (figure, _) = self.figure_at(text, left.clone(), phase)?;
        if !is_percentile(&figure) {
            let message = format!("`{}` has no interval", &text[left.clone()]);
            let hint =
                "percentiles of measures above 0 and below 100 have one, like p95(checkout) or p50";
            return Err(FigureError::new(left, message).hint(hint));
        }
        let precision = precision(&text[value.clone()]).ok_or_else(|| {
            let message =
                format!("`{}` is not how precise a percentile can be", &text[value.clone()]);
            FigureError::new(value, message).hint("write 0.5% to 50%, or a duration like 5ms")
        })?;
        Ok(PreciseFigure { text: text.trim().to_owned(), figure, precision })
    }
}

fn is_percentile(figure: &Figure) -> bool {
    let stat = match figure {
        Figure::Measure { stat, .. } | Figure::Measures { stat, .. } => stat,
        _ => return false,
    };
    matches!(stat, Stat::Quantile(share) if *share > 0.0 && *share < 1.0)
}

fn precision(text: &str) -> Option<Precision> {
    if text.ends_with('%') {
        let share = parse::share(text).ok()?;
        return (SHARE_MIN..=SHARE_MAX).contains(&share).then_some(Precision::Relative(share));
    }
    let ns = parse::duration(text).ok()? * 1e9;
    (ns > 0.0).then_some(Precision::Absolute(ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::MeasureId;
    use crate::thresholds::Basis;

    const NAMES: Names<'static> = Names {
        measures: &["connect", "checkout", "2 ± 1", "a+-b"],
        metrics: &[],
        tags: &[],
        phases: &["ramp", "hold"],
    };

    #[test]
    fn percentiles_are_to_be_known_relatively_or_absolutely() {
        let checkout = |phase| Figure::Measure {
            stat: Stat::Quantile(0.95),
            measure: Some(MeasureId(1)),
            basis: Basis::Response,
            phase,
        };
        for (text, figure, precision) in [
            ("p95(checkout) ± 2%", checkout(None), Precision::Relative(0.02)),
            ("p95(checkout)+-2% in hold", checkout(Some(1)), Precision::Relative(0.02)),
            ("p95(\"checkout\") +/- 5ms", checkout(None), Precision::Absolute(5e6)),
        ] {
            let found = NAMES.precise(text).unwrap();
            assert_eq!((found.text.as_str(), found.figure), (text, figure), "{text}");
            assert_eq!(found.precision, precision, "{text}");
        }
    }

    #[test]
    fn signs_in_names_are_none() {
        for (text, number) in
            [("p95(2 ± 1) +- 2%", 2), ("p95(\"a+-b\") +/- 2%", 3), ("p95(a+-b)+-2%", 3)]
        {
            let figure = NAMES.precise(text).unwrap().figure;
            let wanted = Some(MeasureId(number));
            assert!(
                matches!(figure, Figure::Measure { measure, .. } if measure == wanted),
                "{text}: {figure:?}"
            );
        }
    }

    #[test]
    fn what_has_no_interval_or_no_precision_is_refused() {
        for (text, message) in [
            ("p95(checkout)", "this does not say how precise a figure is to be"),
            ("error_rate ± 1%", "`error_rate` has no interval"),
            ("p100 ± 1%", "`p100` has no interval"),
            ("p95(sessions) ± 1%", "`p95(sessions)` has no interval"),
            ("p95 ± 0.1%", "`0.1%` is not how precise a percentile can be"),
            ("p95 ± 2", "`2` is not how precise a percentile can be"),
            ("p95(nothing) ± 2%", "nothing is measured as `nothing`"),
        ] {
            assert_eq!(NAMES.precise(text).unwrap_err().message, message, "{text}");
        }
    }

    #[test]
    fn both_ends_have_to_be_near() {
        let two_percent = Precision::Relative(0.02);
        assert!(two_percent.holds(100.0, 98.0, 102.0));
        assert!(!two_percent.holds(100.0, 97.9, 100.1));
        assert!(!two_percent.holds(100.0, 99.9, 102.1));
        assert!(Precision::Absolute(5.0).holds(100.0, 95.0, 101.0));
    }
}
