//! Secrets that must not be recorded: values of environment variables and private keys that the scenario reads, which all texts
//! show as the scenario does, `${env('NAME')}` and `${file('NAME')}`, and of overrides that hold secrets.

use plan::Plan;
use plan::secret::{HIDDEN, SECRET_BYTES_MIN, hide};
use record::schema::{EventKind, RunInfo};
use workers::{Inputs, ScenarioText, is_private_key};

/// The text that stands for a password in an address.
const MASKED: &str = ":***@";

/// True if the value of an environment variable is hidden: lists of hosts and places of proxies are no secrets, and
/// would be found in any text.
fn is_secret(name: &str, value: &str) -> bool {
    !scenario::PROXY_VARIABLES.contains(&name) || value.contains('@')
}

/// Values and their replacements, the longest first: one may contain another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(Vec<(String, String)>);

impl Secrets {
    /// Secrets of the environment, and private keys in files.
    pub(crate) fn new(inputs: &Inputs) -> Secrets {
        let env = inputs.env.iter().filter_map(|(name, value)| {
            let value = value.clone().filter(|value| is_secret(name, value))?;
            Some((value, format!("${{env('{name}')}}")))
        });
        let keys = inputs.files.iter().filter_map(|(name, text)| {
            let key = text.as_ref().ok().filter(|text| is_private_key(text))?;
            Some((key.trim_end().to_owned(), format!("${{file('{name}')}}")))
        });
        Secrets::from_values(env.chain(keys))
    }

    /// Secrets of the environment, of the plan's secret overrides, and the passwords that its target and proxies are given.
    pub(crate) fn of_plan(scenario: &ScenarioText, plan: &Plan) -> Secrets {
        let sets = plan.secret_sets.iter().filter_map(|at| {
            let (_, value) = scenario.overrides.get(*at)?;
            let plain = scenario::plain_text(value);
            Some((plain.unwrap_or_else(|| value.clone()), HIDDEN.to_owned()))
        });
        let Secrets(environment) = Secrets::new(&scenario.inputs);
        let sets = environment.into_iter().chain(sets);
        // A password is replaced within an address only: by itself it may be a word that occurs anywhere.
        let credentials = plan.proxies.iter().filter_map(|own| own.credentials.as_ref());
        let of_proxies = credentials.map(|own| own.written.as_str());
        let passwords = plan.target.passwords().chain(of_proxies);
        let passwords = passwords.map(|password| (format!(":{password}@"), MASKED.to_owned()));
        Secrets::from_values(sets.chain(passwords))
    }

    fn from_values(values: impl Iterator<Item = (String, String)>) -> Secrets {
        let long = values.filter(|(value, _)| value.len() >= SECRET_BYTES_MIN);
        let mut known: Vec<(String, String)> = long.collect();
        known.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        known.dedup();
        Secrets(known)
    }

    /// The scenario's text as it is recorded: without the passwords that its target and proxies are given.
    pub(crate) fn recorded(&self, text: &str) -> String {
        let passwords = self.0.iter().filter(|(_, name)| name == MASKED);
        passwords.fold(text.to_owned(), |text, (value, name)| text.replace(value, name))
    }

    /// Hides them in a text.
    pub(crate) fn hide(&self, text: &mut String) {
        for (value, name) in &self.0 {
            hide(text, value, name);
        }
    }

    /// Hides them in `run.json`.
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

    /// Hides them in an event.
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
            EventKind::OnceEnded(ended) => {
                ended.why.iter_mut().for_each(|why| self.hide(why));
                ended.step.iter_mut().for_each(|step| self.hide(step));
                let operations = ended.operations.iter_mut();
                operations.for_each(|operation| self.hide(&mut operation.name));
            }
            EventKind::PhaseStarted { .. }
            | EventKind::Draining
            | EventKind::RunEnded { .. }
            | EventKind::Interrupted
            | EventKind::ArrivalsPaused
            | EventKind::ArrivalsResumed
            | EventKind::ShareDealt { .. }
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
    use crate::testing;

    #[test]
    fn overrides_are_hidden_as_they_are_recorded() {
        let scenario = ScenarioText {
            name: String::new(),
            text: String::new(),
            overrides: [("n", "1000"), ("tok", "hunter2"), ("header_1", "\"Basic \\\"x\"")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .to_vec(),
            inputs: Inputs::default(),
        };
        let mut plan =
            testing::plan(&format!("target: {{ market: {{ store: {STORE} }} }}\n{REST}"));
        plan.secret_sets = vec![1, 2];
        let mut text = format!("1000 times hunter2 and Basic \"x for {STORE}");
        Secrets::of_plan(&scenario, &plan).hide(&mut text);
        let expected = "1000 times (secret) and (secret) for mysql://market:***@h/db";
        assert_eq!(text, expected);
    }

    /// A password that is a word of the scenario.
    const STORE: &str = "mysql://market:market@h/db";
    const REST: &str =
        "sessions: { a: [ { get: / } ] }\narrivals: [ { constant: 1/s, for: 1s } ]\n";

    #[test]
    fn the_scenario_is_recorded_without_the_passwords_of_its_target() {
        let text = format!("target: {{ market: {{ store: {STORE} }} }}\n{REST}");
        let expected = text.replace(":market@", ":***@");
        let secrets = Secrets::of_plan(&ScenarioText::default(), &testing::plan(&text));
        assert_eq!(secrets.recorded(&text), expected);
    }

    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2Vw\n-----END PRIVATE KEY-----";

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
            files: vec![
                ("key.pem".to_owned(), Ok(format!("{KEY}\n"))),
                ("rows.csv".to_owned(), Ok("2 times".to_owned())),
            ],
            ..Inputs::default()
        });
        let mut text = format!("it sent {KEY}");
        secrets.hide(&mut text);
        assert_eq!(text, "it sent ${file('key.pem')}");
        let mut text = "GET http://hunter2@host/ with hunter2: 2 times".to_owned();
        secrets.hide(&mut text);
        assert_eq!(text, "GET ${env('URL')} with ${env('TOKEN')}: 2 times");
        let mut note = EventKind::Note { text: "hunter2".to_owned() };
        secrets.hide_in_event(&mut note);
        let hidden = "${env('TOKEN')}".to_owned();
        assert_eq!(note, EventKind::Note { text: hidden });
    }
}
