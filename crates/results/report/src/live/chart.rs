//! Charts of one line.

use crate::style::Style;

/// A bar of `columns` characters filled to `share` of 0..=1.
pub(super) fn bar(share: f64, columns: usize, style: Style) -> String {
    let full = ((share.clamp(0.0, 1.0) * columns as f64) as usize).min(columns);
    let (done, rest) = style.pick(("█", "░"), ("#", "-"));
    done.repeat(full) + &rest.repeat(columns - full)
}

/// Values from 0 to the largest among them, a character each, padded on the left to `columns`.
pub(crate) fn sparkline(values: &[f64], columns: usize, style: Style) -> String {
    let levels: Vec<char> = style.pick(" ▁▂▃▄▅▆▇█", " .:-=+*#@").chars().collect();
    let top = values.iter().copied().fold(0.0, f64::max);
    let level = |value: f64| {
        // What is more than nothing shows.
        let level = (value / top * (levels.len() - 1) as f64).ceil();
        levels[if value > 0.0 { (level as usize).min(levels.len() - 1) } else { 0 }]
    };
    let line: String = values.iter().map(|&value| level(value)).collect();
    format!("{line:>columns$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNICODE: Style = Style { colour: false, unicode: true };

    #[test]
    fn bars_fill_from_the_left() {
        assert_eq!(bar(0.0, 4, UNICODE), "░░░░");
        assert_eq!(bar(0.5, 4, UNICODE), "██░░");
        assert_eq!(bar(1.7, 4, Style::PLAIN), "####");
        assert_eq!(bar(f64::NAN, 4, Style::PLAIN), "----");
    }

    #[test]
    fn sparklines_scale_to_their_largest_value() {
        assert_eq!(sparkline(&[0.0, 1.0, 50.0, 100.0], 6, UNICODE), "   ▁▄█");
        assert_eq!(sparkline(&[0.0, 0.0], 2, UNICODE), "  ");
        assert_eq!(sparkline(&[], 3, UNICODE), "   ");
        assert_eq!(sparkline(&[8.0, 4.0], 2, Style::PLAIN), "@=");
    }
}
