//! Options without effect, and parts that lines lack: rejected, or reported as findings.

use crate::findings::{Severity, add};
use crate::format::{CSV, JSON};
use crate::read::{LineStatistics, Reading};
use crate::settings::Settings;
use crate::{Model, ModelError};

/// Maximum number of field names in an error.
const NAMES_SHOWN: usize = 40;

/// Rejects `--field` names that no line has: the value would come from elsewhere, or be a default.
pub(crate) fn check_fields(reading: &Reading, settings: &Settings) -> Result<(), ModelError> {
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
        return Err(ModelError::Idle { option: "--field", what: formats.join(", ") });
    }
    let statistics = &reading.statistics;
    let mut given = settings.fields.iter().zip(&statistics.fields);
    match given.find(|(_, lines)| statistics.named > 0 && **lines == 0) {
        Some(((means, name), _)) => {
            let names = statistics.names.iter().take(NAMES_SHOWN);
            let mut names: Vec<&str> = names.map(String::as_str).collect();
            if statistics.names.len() > NAMES_SHOWN {
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

/// Reports the other options without effect, and what lines lack.
pub(crate) fn report(model: &mut Model, statistics: &LineStatistics, settings: &Settings) {
    unused_options(model, statistics, settings);
    missing_parts(model, statistics, settings);
}

/// Options that matched no line.
fn unused_options(model: &mut Model, statistics: &LineStatistics, settings: &Settings) {
    let mut warn = |code, text| add(model, Severity::Warning, code, text);
    for (rule, &requests) in settings.rules.iter().zip(&statistics.rules) {
        if requests == 0 {
            let text = format!(
                "--class {}: no request matches it, or earlier classes took them all; the model has no such class",
                rule.name
            );
            warn("class-unmatched", text);
        }
    }
    for (part, matched) in settings.without.iter().zip(&statistics.without) {
        if !matched {
            let text = format!("--without {part}: no line matches it, so it left out nothing");
            warn("without-unmatched", text);
        }
    }
    if let Some(part) = settings.segment.as_ref().filter(|_| !statistics.segmented) {
        let text = format!("--segment {part}: no request matches it, so all are in one segment");
        warn("segment-unmatched", text);
    }
    if let Some(zone) = settings.zone.as_ref().filter(|_| statistics.no_zone == 0) {
        let text = format!(
            "--zone {zone} has no effect: all times name their zone, or the format defines them as UTC"
        );
        warn("zone-idle", text);
    }
}

/// Parts that lines lack, and the values used instead.
fn missing_parts(model: &mut Model, statistics: &LineStatistics, settings: &Settings) {
    let requests = model.log.requests;
    let lacking = |count: u64, what: &str| match count == requests {
        true => format!("no request has {what}"),
        false => format!("{count} of {requests} requests have no {}", &what[2..]),
    };
    let by_agent = model.key.contains("agent");
    if statistics.no_method > 0 {
        let text = lacking(statistics.no_method, "a method") + "; the model uses GET";
        add(model, Severity::Warning, "no-method", text);
    }
    if statistics.no_status > 0 {
        let text = lacking(statistics.no_status, "a status")
            + "; in a class without statuses, the scenario counts 400 and above as errors";
        add(model, Severity::Note, "no-status", text);
    }
    if by_agent && statistics.no_agent == requests {
        let text = "no request has a user agent, so users who share an address count as one; --field agent=NAME names \
                    it, or --key another part";
        add(model, Severity::Note, "no-agent", text.to_owned());
    }
    let some = |lines: u64| 0 < lines && lines < statistics.named;
    for ((means, name), &lines) in settings.fields.iter().zip(&statistics.fields) {
        if some(lines) {
            let all = statistics.named;
            let text = format!("{lines} of {all} lines have the field {name:?} for the {means}");
            add(model, Severity::Note, "field-missing", text);
        }
    }
}
