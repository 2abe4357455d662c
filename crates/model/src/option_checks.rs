//! What was asked of a log and came to nothing, and what its lines did not tell: refused, or told.

use crate::findings::{Severity, add};
use crate::format::{CSV, JSON};
use crate::read::{Noticed, Reading};
use crate::settings::Settings;
use crate::{Model, ModelError};

/// Names that are shown of those that lines have.
const NAMES_TOLD: usize = 40;

/// Refuses names for fields that no line has: what they were given for would be taken from elsewhere, or made up.
pub(crate) fn refused(reading: &Reading, settings: &Settings) -> Result<(), ModelError> {
    let formats = reading.files.iter().map(|file| file.format.as_str());
    let mut formats: Vec<&str> = formats.filter(|format| !format.is_empty()).collect();
    formats.sort_unstable();
    formats.dedup();
    if settings.fields.is_empty() || formats.is_empty() {
        return Ok(());
    }
    // A table without such a column was refused before its first row.
    if formats.contains(&CSV) {
        return Ok(());
    }
    if !formats.contains(&JSON) {
        return Err(ModelError::Idle {
            option: "--field",
            what: formats.join(", "),
        });
    }
    let noticed = &reading.noticed;
    let mut given = settings.fields.iter().zip(&noticed.fields);
    match given.find(|(_, lines)| noticed.named > 0 && **lines == 0) {
        Some(((means, name), _)) => {
            let names = noticed.names.iter().take(NAMES_TOLD);
            let mut names: Vec<&str> = names.map(String::as_str).collect();
            if noticed.names.len() > NAMES_TOLD {
                names.push("…");
            }
            Err(ModelError::Field {
                means: means.clone(),
                name: name.clone(),
                names: names.join(", "),
            })
        }
        None => Ok(()),
    }
}

/// Tells the rest of it.
pub(crate) fn tell(model: &mut Model, noticed: &Noticed, settings: &Settings) {
    idle(model, noticed, settings);
    missing(model, noticed, settings);
}

/// Options that no line had to do with.
fn idle(model: &mut Model, noticed: &Noticed, settings: &Settings) {
    let mut warn = |code, text| add(model, Severity::Warning, code, text);
    for (rule, &requests) in settings.rules.iter().zip(&noticed.rules) {
        if requests == 0 {
            let text = format!(
                "--class {}: no request matches that none of those before it takes; there is no such class",
                rule.name
            );
            warn("class-unmatched", text);
        }
    }
    for (part, matched) in settings.without.iter().zip(&noticed.without) {
        if !matched {
            let text = format!("--without {part}: no line matches, and none was left out for it");
            warn("without-unmatched", text);
        }
    }
    if let Some(part) = settings.segment.as_ref().filter(|_| !noticed.segmented) {
        let text = format!("--segment {part}: no request matches, and all are of one segment");
        warn("segment-unmatched", text);
    }
    if let Some(zone) = settings.zone.as_ref().filter(|_| noticed.no_zone == 0) {
        let text = format!(
            "--zone {zone} does nothing: all times name their zone, or are UTC by the log's format"
        );
        warn("zone-idle", text);
    }
}

/// What lines did not tell, and what stands in its place.
fn missing(model: &mut Model, noticed: &Noticed, settings: &Settings) {
    let requests = model.log.requests;
    let told = |count: u64, what: &str| match count == requests {
        true => format!("no request has {what}"),
        false => format!("{count} of {requests} requests have no {}", &what[2..]),
    };
    let by_agent = model.key.contains("agent");
    if noticed.no_method > 0 {
        let text = told(noticed.no_method, "a method") + "; GET was taken for it";
        add(model, Severity::Warning, "no-method", text);
    }
    if noticed.no_status > 0 {
        let text = told(noticed.no_status, "a status")
            + "; where a class has none, the scenario takes 400 and above for failures";
        add(model, Severity::Note, "no-status", text);
    }
    if by_agent && noticed.no_agent == requests {
        let text = "no request has an agent: all who share an address are one user; --field agent=NAME or --key \
                    says what else tells them apart";
        add(model, Severity::Note, "no-agent", text.to_owned());
    }
    let some = |lines: u64| 0 < lines && lines < noticed.named;
    for ((means, name), &lines) in settings.fields.iter().zip(&noticed.fields) {
        if some(lines) {
            let all = noticed.named;
            let text = format!("{lines} of {all} lines have {name:?} for the {means}");
            add(model, Severity::Note, "field-missing", text);
        }
    }
}
