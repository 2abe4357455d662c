//! What must not be recorded: values of environment variables that the scenario reads, which all texts show as
//! the scenario does, `${env('NAME')}`, and of overrides that hold secrets.

use record::schema::{EventKind, RunInfo};

use crate::inputs::{Inputs, ScenarioText};

/// Shorter values occur in any text and hide nothing.
const VALUE_BYTES_MIN: usize = 4;

/// Values and their replacements, the longest first: one may contain another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(Vec<(String, String)>);

impl Secrets {
    /// Those of the environment.
    pub(crate) fn new(inputs: &Inputs) -> Secrets {
        Secrets::from_values(inputs.env.iter().filter_map(|(name, value)| {
            let value = value.clone()?;
            Some((value, format!("${{env('{name}')}}")))
        }))
    }

    /// Those of the environment, and of the overrides at these places of the list.
    pub(crate) fn of_scenario(scenario: &ScenarioText, secret_sets: &[usize]) -> Secrets {
        let sets = secret_sets.iter().filter_map(|at| {
            let (_, value) = scenario.overrides.get(*at)?;
            let plain = scenario::plain_text(value);
            Some((
                plain.unwrap_or_else(|| value.clone()),
                "(secret)".to_owned(),
            ))
        });
        let Secrets(environment) = Secrets::new(&scenario.inputs);
        Secrets::from_values(environment.into_iter().chain(sets))
    }

    fn from_values(values: impl Iterator<Item = (String, String)>) -> Secrets {
        let long = values.filter(|(value, _)| value.len() >= VALUE_BYTES_MIN);
        let mut known: Vec<(String, String)> = long.collect();
        known.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        known.dedup();
        Secrets(known)
    }

    /// The text without them.
    pub(crate) fn hide(&self, text: &mut String) {
        for (value, name) in &self.0 {
            if text.contains(value.as_str()) {
                *text = text.replace(value.as_str(), name);
            }
        }
    }

    /// What `run.json` says, without them.
    pub(crate) fn hide_in_info(&self, info: &mut RunInfo) {
        self.hide(&mut info.target);
        for measure in &mut info.measures {
            self.hide(&mut measure.name);
            measure.tags.values_mut().for_each(|tag| self.hide(tag));
            if let Some(name) = &mut measure.shared_name {
                self.hide(name);
            }
        }
    }

    /// An event without them.
    pub(crate) fn hide_in_event(&self, what: &mut EventKind) {
        match what {
            EventKind::Error { detail, .. } => self.hide(detail),
            EventKind::Sampling { reason, .. } => self.hide(reason),
            EventKind::WorkerLost { why, .. } => self.hide(why),
            EventKind::ProbeLost { why, .. } => self.hide(why),
            EventKind::FaultBegan { text, .. } | EventKind::FaultEnded { text, .. } => {
                self.hide(text);
            }
            EventKind::AddressesChanged { name, .. } => self.hide(name),
            EventKind::Note { text } => self.hide(text),
            EventKind::PhaseStarted { .. }
            | EventKind::Draining
            | EventKind::RunEnded { .. }
            | EventKind::Interrupted
            | EventKind::ArrivalsPaused
            | EventKind::ArrivalsResumed
            | EventKind::MemoryPressure { .. }
            | EventKind::TargetEnded { .. }
            | EventKind::ClockCompared { .. }
            | EventKind::NetworkEmulated { .. }
            | EventKind::TimeDilated { .. }
            | EventKind::LabUsed { .. }
            | EventKind::ProbeBack { .. }
            | EventKind::ProbeSource { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_are_hidden_as_they_are_recorded() {
        let scenario = ScenarioText {
            name: String::new(),
            text: String::new(),
            overrides: [
                ("n", "1000"),
                ("tok", "hunter2"),
                ("header_1", "\"Basic \\\"x\""),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .to_vec(),
            inputs: Inputs::default(),
        };
        let mut text = "1000 times hunter2 and Basic \"x".to_owned();
        Secrets::of_scenario(&scenario, &[1, 2]).hide(&mut text);
        assert_eq!(text, "1000 times (secret) and (secret)");
    }

    #[test]
    fn values_are_replaced_by_their_names() {
        let value = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        let secrets = Secrets::new(&Inputs {
            env: vec![
                value("TOKEN", "hunter2"),
                value("URL", "http://hunter2@host/"),
                value("N", "2"),
                ("UNSET".to_owned(), None),
            ],
            files: Vec::new(),
        });
        let mut text = "GET http://hunter2@host/ with hunter2: 2 times".to_owned();
        secrets.hide(&mut text);
        assert_eq!(text, "GET ${env('URL')} with ${env('TOKEN')}: 2 times");
        let mut note = EventKind::Note {
            text: "hunter2".to_owned(),
        };
        secrets.hide_in_event(&mut note);
        let hidden = "${env('TOKEN')}".to_owned();
        assert_eq!(note, EventKind::Note { text: hidden });
    }
}
