//! Secrets that must not be recorded: values of environment variables and private keys that the scenario reads, which all texts
//! show as the scenario does, `${env('NAME')}` and `${file('NAME')}`; of overrides that hold secrets; those that stand in
//! the scenario's own text; and, in texts of errors, whatever stands behind the name of a secret.

use engine::measure::without_numbers;
use plan::secret::{HIDDEN, SECRET_BYTES_MIN, SecretNames, SecretText, hide, hide_named};
use plan::{Plan, is_secret_header};
use record::schema::{ErrorSample, EventKind, RunInfo};
use workers::{Inputs, ScenarioText, is_private_key};

/// Shorter secrets of the scenario's text are hidden there alone: many are words such as `none`.
const TEXT_BYTES_MIN: usize = 6;

/// The text that stands for a password in an address.
const MASKED: &str = ":***@";

/// True if the value of an environment variable is hidden: lists of hosts and places of proxies are no secrets, and
/// would be found in any text.
fn is_secret(name: &str, value: &str) -> bool {
    !scenario::PROXY_VARIABLES.contains(&name) || value.contains('@')
}

/// The texts that are hidden, and how.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets {
    /// Values and their replacements, the longest first: one may contain another.
    known: Vec<(String, String)>,
    /// In the scenario's text. Elsewhere they are hidden in events alone: such a value may be a word that also names a
    /// measure.
    texts: Vec<SecretText>,
    names: SecretNames,
}

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
        Secrets { known: known(env.chain(keys)), ..Secrets::default() }
    }

    /// Secrets of the environment, of the plan's secret overrides, and the passwords that its target and proxies are given.
    pub(crate) fn of_plan(scenario: &ScenarioText, plan: &Plan) -> Secrets {
        let sets = plan.secret_sets.iter().filter_map(|at| {
            let (_, value) = scenario.overrides.get(*at)?;
            let plain = scenario::plain_text(value);
            Some((plain.unwrap_or_else(|| value.clone()), HIDDEN.to_owned()))
        });
        let Secrets { known: environment, .. } = Secrets::new(&scenario.inputs);
        let sets = environment.into_iter().chain(sets);
        // A password is replaced within an address only: by itself it may be a word that occurs anywhere.
        let credentials = plan.proxies.iter().filter_map(|own| own.credentials.as_ref());
        let of_proxies = credentials.map(|own| own.written.as_str());
        let passwords = plan.target.passwords().chain(of_proxies);
        let passwords = passwords.map(|password| (format!(":{password}@"), MASKED.to_owned()));
        Secrets {
            known: known(sets.chain(passwords)),
            texts: plan.secret_texts.clone(),
            names: plan.secret_names.clone(),
        }
    }

    /// The scenario's text as it is recorded: without the secrets that stand in it, and without the passwords that its
    /// target and proxies are given.
    pub(crate) fn recorded(&self, text: &str) -> String {
        self.recorded_from(text, 0)
    }

    /// The files that it consists of besides, by name, as they are recorded: those that it includes, its scripts, and
    /// the modules that these import.
    pub(crate) fn recorded_inputs(&self, plan: &Plan) -> Vec<(String, String)> {
        let included = plan.included.iter();
        let included =
            included.map(|file| (file.name.clone(), self.recorded_from(&file.text, file.start)));
        let scripts =
            plan.script.iter().flat_map(|script| script.files.iter().chain(&script.imports));
        let scripts = scripts.map(|file| {
            let mut text = file.text.to_string();
            self.hide(&mut text);
            (file.name.clone(), text)
        });
        let of_k6 = plan.k6.iter().flat_map(|script| &script.files);
        // What a script opens is data, which is not copied.
        let of_k6 = of_k6.filter(|file| file.is_module());
        let of_k6 = of_k6.map(|file| {
            let mut text = String::from_utf8_lossy(&file.bytes).into_owned();
            self.hide(&mut text);
            (file.name.clone(), text)
        });
        included.chain(scripts).chain(of_k6).collect()
    }

    /// As [`Secrets::recorded`], of a text that begins at a byte of all texts.
    fn recorded_from(&self, text: &str, start: usize) -> String {
        let mut recorded = text.to_owned();
        let mut places: Vec<&SecretText> = self.texts.iter().collect();
        places.sort_by_key(|secret| std::cmp::Reverse(secret.span.start));
        places.dedup_by_key(|secret| secret.span.start);
        for SecretText { span, value } in places {
            let Some(from) = span.start.checked_sub(start) else {
                continue;
            };
            let span = from..from + span.len();
            // With escapes the value does not show as it is.
            let hidden = match text.get(span.clone()) {
                Some(shown) if shown.contains(value) => shown.replace(value.as_str(), HIDDEN),
                Some(_) => format!("\"{HIDDEN}\""),
                None => continue,
            };
            recorded.replace_range(span, &hidden);
        }
        let passwords = self.known.iter().filter(|(_, name)| name == MASKED);
        passwords.fold(recorded, |text, (value, name)| text.replace(value, name))
    }

    /// Hides them in a text.
    pub(crate) fn hide(&self, text: &mut String) {
        for (value, name) in &self.known {
            hide(text, value, name);
        }
    }

    /// Hides them in a text that quotes what was sent or received.
    pub(crate) fn hide_in_detail(&self, text: &mut String) {
        self.hide(text);
        for secret in self.texts.iter().filter(|secret| secret.value.len() >= TEXT_BYTES_MIN) {
            hide(text, &secret.value, HIDDEN);
        }
        hide_named(text, &self.names);
    }

    /// Hides them in the detail of a failure, which has lost its numbers: so have the secrets in it.
    pub(crate) fn hide_in_failure(&self, detail: &mut String) {
        self.hide_in_detail(detail);
        let texts = self.texts.iter().map(|secret| (secret.value.as_str(), HIDDEN));
        let texts = texts.filter(|(value, _)| value.len() >= TEXT_BYTES_MIN);
        let known = self.known.iter().map(|(value, name)| (value.as_str(), name.as_str()));
        for (value, name) in known.chain(texts) {
            let value = without_numbers(value);
            // What was but numbers says nothing any more.
            if value.contains(char::is_alphabetic) {
                hide(detail, &value, name);
            }
        }
    }

    /// Hides them in a failure as its user saw it. Headers that carry secrets have names and no values; the detail is
    /// without secrets already.
    pub(crate) fn hide_in_sample(&self, sample: &mut ErrorSample) {
        for (name, value) in &mut sample.headers {
            match is_secret_header(name) || self.names.contains(name) {
                true => HIDDEN.clone_into(value),
                false => self.hide_in_detail(value),
            }
        }
        let texts = [&mut sample.request, &mut sample.status, &mut sample.body];
        let texts = texts.into_iter().flatten().chain([&mut sample.text]);
        texts.for_each(|text| self.hide_in_detail(text));
    }

    /// Hides them in the name of a measure.
    fn hide_in_name(&self, name: &mut String) {
        self.hide(name);
        hide_named(name, &self.names);
    }

    /// Hides them in `run.json`.
    pub(crate) fn hide_in_info(&self, info: &mut RunInfo) {
        self.hide(&mut info.target);
        for measure in &mut info.measures {
            self.hide_in_name(&mut measure.name);
            measure.tags.values_mut().for_each(|tag| self.hide(tag));
            if let Some(name) = &mut measure.shared_name {
                self.hide_in_name(name);
            }
        }
        for metric in &mut info.metrics {
            self.hide_in_name(&mut metric.name);
            self.hide(&mut metric.unit);
        }
    }

    /// Hides them in an event.
    pub(crate) fn hide_in_event(&self, what: &mut EventKind) {
        match what {
            EventKind::Error { measure, detail, .. } => {
                self.hide_in_name(measure);
                self.hide_in_detail(detail);
            }
            EventKind::Sampling { reason, .. } => self.hide(reason),
            EventKind::Aborted { threshold, .. } => self.hide(threshold),
            EventKind::Until { figures, .. } => {
                figures.iter_mut().for_each(|figure| self.hide(&mut figure.text));
            }
            EventKind::WorkerLost { why, .. } => self.hide_in_detail(why),
            EventKind::ProbeLost { why, .. } => self.hide_in_detail(why),
            EventKind::FaultBegan { text, .. } | EventKind::FaultEnded { text, .. } => {
                self.hide(text);
            }
            EventKind::AddressesChanged { name, .. } => self.hide(name),
            EventKind::Note { text } | EventKind::Console { text } => self.hide_in_detail(text),
            EventKind::OnceEnded(ended) => {
                ended.why.iter_mut().for_each(|why| self.hide_in_detail(why));
                ended.step.iter_mut().for_each(|step| self.hide_in_name(step));
                let operations = ended.operations.iter_mut();
                operations.for_each(|operation| self.hide_in_name(&mut operation.name));
            }
            EventKind::PhaseStarted { .. }
            | EventKind::Draining
            | EventKind::RunEnded { .. }
            | EventKind::Interrupted
            | EventKind::ScriptAborted
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

/// Those that are long enough to be hidden, the longest first.
fn known(values: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let long = values.filter(|(value, _)| value.len() >= SECRET_BYTES_MIN);
    let mut known: Vec<(String, String)> = long.collect();
    known.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
    known.dedup();
    known
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plan::{K6File, K6Script, Script, ScriptFile};

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
    fn secrets_are_hidden_in_what_is_left_of_them_in_a_detail() {
        let env = [("KEY", "horse-battery-7"), ("PIN", "12345"), ("WORD", "hunter2")];
        let env = env.map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
        let inputs = Inputs { env: env.into_iter().collect(), ..Inputs::default() };
        let mut detail = without_numbers("no. 5: bad key horse-battery-7 of hunter2, pin 12345");
        assert_eq!(detail, "no. #: bad key horse-battery-# of hunter#, pin #");
        Secrets::new(&inputs).hide_in_failure(&mut detail);
        assert_eq!(detail, "no. #: bad key ${env('KEY')} of ${env('WORD')}, pin #");
    }

    #[test]
    fn the_scenario_is_recorded_without_the_passwords_of_its_target() {
        let text = format!("target: {{ market: {{ store: {STORE} }} }}\n{REST}");
        let expected = text.replace(":market@", ":***@");
        let secrets = Secrets::of_plan(&ScenarioText::default(), &testing::plan(&text));
        assert_eq!(secrets.recorded(&text), expected);
    }

    #[test]
    fn secrets_of_an_included_file_are_recorded_nowhere() {
        let own = "target: http://h/\ninclude: part.yaml\nparams: { token: hush-0 }\n\
                   arrivals: [ { constant: 1/s, for: 1s } ]\n";
        let part = "sessions:\n  a: [ { get: \"/${token}?token=hush-1\" } ]\n";
        let settings =
            scenario::Settings { overrides: &[], env: &|_| None, files: &|_| Ok(part.to_owned()) };
        let source = scenario::Source { name: "own.yaml", text: own };
        let plan = scenario::compile(source, &settings).0.unwrap();
        let secrets = Secrets::of_plan(&ScenarioText::default(), &plan);
        assert_eq!(secrets.recorded(own), own.replace("hush-0", HIDDEN));
        let expected = part.replace("hush-1", HIDDEN);
        assert_eq!(secrets.recorded_inputs(&plan), [("part.yaml".to_owned(), expected)]);
    }

    #[test]
    fn modules_that_scripts_import_are_recorded() {
        let mut plan = testing::plan(&format!("target: http://h/\n{REST}"));
        let file = |name: &str| ScriptFile { name: name.to_owned(), text: "// hunter2".into() };
        plan.script = Some(Arc::new(Script {
            files: vec![file("main.js")],
            imports: vec![file("lib/tax.js")],
            declared: Vec::new(),
            functions: Vec::new(),
            steps: Vec::new(),
            time_max_ns: 1,
            memory_bytes_max: 1,
        }));
        let env = [("WORD".to_owned(), Some("hunter2".to_owned()))];
        let inputs = Inputs { env: env.into_iter().collect(), ..Inputs::default() };
        let hidden = |name: &str| (name.to_owned(), "// ${env('WORD')}".to_owned());
        let k6_file =
            |name: &str| K6File { name: name.to_owned(), bytes: b"// hunter2"[..].into() };
        plan.k6 = Some(Arc::new(K6Script {
            files: vec![k6_file("load.js"), k6_file("users.json")],
            env: Vec::new(),
            options: String::new(),
            metrics: Vec::new(),
            time_max_ns: 1,
            memory_bytes_max: 1,
        }));
        let expected = ["main.js", "lib/tax.js", "load.js"].map(hidden);
        assert_eq!(Secrets::new(&inputs).recorded_inputs(&plan), expected);
    }

    #[test]
    fn secrets_in_the_text_are_recorded_nowhere() {
        let text = "target: http://127.0.0.1/
options: { secrets: [pin] }
params: { token: hush-0 }
sessions:
  a:
    - get: \"/${token}\"
    - { get: \"/a?token=hush-1&n=1\", headers: { authorization: Bearer hush-2 } }
    - { post: /b, json: { user: ann, password: \"hush\\u002d3\", pin: hush-4 } }
    - { post: /c, body: '{\"api_key\": \"hush-5\"}', as: \"c?token=hush-6\" }
    - { post: /d, form: { client-secret: hush-7 } }
    - { get: \"/e?token=${env('TOKEN')}\" }
arrivals: [ { constant: 1/s, for: 1s } ]
";
        let plan = testing::plan(&text.replace("${env('TOKEN')}", "${user}"));
        let secrets = Secrets::of_plan(&ScenarioText::default(), &plan);
        let recorded = secrets.recorded(text);
        // The name of a measure is hidden where it is recorded; a threshold may use it as it is written.
        assert_eq!(recorded.matches("hush").count(), 1, "{recorded}");
        assert!(recorded.contains("/a?token=(secret)&n=1"), "{recorded}");
        assert!(recorded.contains("authorization: (secret)"), "{recorded}");
        assert!(recorded.contains("/e?token=${env('TOKEN')}"), "{recorded}");
        let measures: Vec<&str> = plan.measures.iter().map(|m| m.name.as_str()).collect();
        assert!(measures.contains(&"GET /a") && measures.contains(&"POST /d"), "{measures:?}");
        let mut what = EventKind::Error {
            measure: "c?token=hush-6".to_owned(),
            outcome: "check".to_owned(),
            user: 1,
            detail: "sent hush-1, got {\"token\": \"hush-8\", \"pin\":\"hush-9\"}".to_owned(),
        };
        secrets.hide_in_event(&mut what);
        let EventKind::Error { measure, detail, .. } = what else { panic!("it is an error") };
        assert_eq!(measure, "c?token=(secret)");
        assert_eq!(detail, "sent (secret), got {\"token\": \"(secret)\", \"pin\":\"(secret)\"}");
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
