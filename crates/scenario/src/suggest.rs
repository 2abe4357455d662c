//! "Did you mean": the nearest known name.

/// How many names are looked at; it bounds the time that a scenario full of errors takes.
const NAMES_MAX: usize = 1000;

/// The known name nearest to what was written, if one is near.
pub fn nearest<'n>(written: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let lower = written.to_lowercase();
    let mut best: Option<(f64, &str)> = None;
    for name in known.into_iter().take(NAMES_MAX) {
        let score = strsim::jaro_winkler(&lower, &name.to_lowercase());
        if best.is_none_or(|(found, _)| score > found) {
            best = Some((score, name));
        }
    }
    best.filter(|(score, _)| *score >= 0.8)
        .map(|(_, name)| name)
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
