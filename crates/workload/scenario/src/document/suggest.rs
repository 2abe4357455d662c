//! "Did you mean": the nearest known name.

/// How many names are looked at; it bounds the time that a scenario full of errors takes.
const NAMES_MAX: usize = 1000;

/// The known name nearest to what was written, if one is near: most of the letters are those of the name.
pub fn nearest<'n>(written: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let lower = written.to_lowercase();
    let mut best: Option<(f64, &str)> = None;
    for name in known.into_iter().take(NAMES_MAX) {
        let score = strsim::jaro_winkler(&lower, &name.to_lowercase());
        if best.is_none_or(|(found, _)| score > found) {
            best = Some((score, name));
        }
    }
    best.filter(|(score, name)| *score >= 0.8 && is_misspelt(&lower, &name.to_lowercase()))
        .map(|(_, name)| name)
}

/// Few letters differ, or words were added: `rooms_max` is near `rooms`. A common beginning alone does not
/// make `foreach` a misspelt `forever`.
fn is_misspelt(written: &str, name: &str) -> bool {
    let added = written.strip_prefix(name).unwrap_or_default();
    if added.starts_with(['_', '-']) {
        return true;
    }
    let longer = written.chars().count().max(name.chars().count());
    strsim::osa_distance(written, name) <= (longer / 3).max(1)
}

/// A hint that names the nearest known name, or else all of them.
pub fn hint<'n>(
    written: &str,
    what: &str,
    known: impl IntoIterator<Item = &'n str> + Clone,
) -> Option<String> {
    if let Some(name) = nearest(written, known.clone()) {
        return Some(format!("did you mean `{name}`?"));
    }
    let names: Vec<String> = known.into_iter().map(|n| format!("`{n}`")).collect();
    match names.len() {
        0 => None,
        1..=24 => Some(format!("{what}: {}", names.join(", "))),
        _ => Some(format!("{what}: {}, …", names[..24].join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_beginning_is_no_misspelling() {
        let steps = ["forever", "restart", "think", "pace", "while"];
        for (written, expected) in [
            ("foreach", None),
            ("forevr", Some("forever")),
            ("repeat", None),
            ("thinc", Some("think")),
            ("whlie", Some("while")),
            ("Forever", Some("forever")),
            ("think_time", Some("think")),
            ("thinktime", None),
        ] {
            assert_eq!(nearest(written, steps), expected, "{written}");
        }
    }
}
