//! Which overrides hold secrets, and which secrets stand in the text.
//!
//! Secrets must not reach the record. The record keeps the scenario's text, in which
//! `${env('NAME')}` stands as it is written, and `--set` without the values noted here: those that
//! reach a header, cookie, credential or the value of a secret name in a query or body, by whatever variables they pass,
//! and those that are named like a secret.

use std::ops::Range;

use super::{Checker, index};
use crate::document::node::{Node, Place};
use plan::secret::{SecretNames, SecretText, named_values, password_of};
use plan::{Session, is_secret_header};

/// Values that reach secret places, collected while a scenario is checked.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    /// Overrides that stand at a secret place themselves, by their place in the list.
    sets: Vec<usize>,
    /// Texts at secret places, and whether that is a cookie.
    texts: Vec<(String, bool)>,
    /// Variables, and the texts that they are set to.
    variables: Vec<(String, String)>,
    /// Names whose values are secret.
    names: SecretNames,
    /// Secrets that stand in the scenario's text.
    plain: Vec<SecretText>,
}

/// What is known of a scenario's secrets once all of it was checked.
pub(super) struct FoundSecrets {
    /// Overrides that hold secrets, by their place in the list.
    pub(super) sets: Vec<usize>,
    /// Those of them that reach cookies only.
    pub(super) cookie_sets: Vec<usize>,
    pub(super) texts: Vec<SecretText>,
    pub(super) names: SecretNames,
}

impl Checker<'_> {
    /// Names whose values are secret besides the known ones.
    pub(super) fn add_secret_names(&mut self, node: &Node) {
        for item in self.one_or_more(node) {
            if let Some(word) = self.word(item, "a name") {
                self.secrets.names.add(&word.text);
            }
        }
    }

    /// Notes a value as secret. One that stands in the text is warned of.
    pub(super) fn note_secret(&mut self, node: &Node) {
        let length = node.text().unwrap_or_default().len();
        self.note_part(node, 0..length);
    }

    /// Notes the value of a pair whose name is that of a secret.
    pub(super) fn note_named(&mut self, name: &str, value: &Node) {
        let is_value = value.scalar().is_some() && !value.is_null();
        if is_value && self.secrets.names.contains(name) {
            self.note_secret(value);
        }
    }

    /// Notes the values of secret names in a URL or a body: `/?token=…`, `{"password":"…"}`.
    pub(super) fn note_values(&mut self, node: &Node) {
        let text = node.text().unwrap_or_default();
        for value in named_values(text, &self.secrets.names) {
            self.note_part(node, value);
        }
    }

    /// A setting of a built-in system, which came out as `value`: secret if it is an address with a password. The record
    /// leaves the password out.
    pub(super) fn note_setting(&mut self, node: &Node, value: &str) {
        if password_of(value).is_some() {
            let text = node.text().unwrap_or_default();
            let warning = "whoever reads the scenario reads this password";
            self.note_text(node, &node.place, text, warning);
        }
    }

    /// Notes a part of a text as secret, and where it stands in the text.
    fn note_part(&mut self, node: &Node, part: Range<usize>) {
        let text = node.text().unwrap_or_default();
        let place = match part == (0..text.len()) {
            true => node.place.clone(),
            false => node.part(&part),
        };
        let text = &text[part];
        if self.note_text(node, &place, text, "whoever reads the scenario reads this secret") {
            self.secrets.plain.push(SecretText { span: place.span, value: text.to_owned() });
        }
    }

    /// Notes a text that holds a secret, and warns if it stands in the scenario; returns whether it does.
    fn note_text(&mut self, node: &Node, place: &Place, text: &str, warning: &str) -> bool {
        let is_plain = !text.contains("${") && node.place.set.is_none() && !text.is_empty();
        if is_plain {
            self.diagnostics
                .warning("plain-secret", place, warning)
                .label("in the scenario's text")
                .hint("write \"${env('NAME')}\" and set the environment variable");
        }
        self.secrets.sets.extend(node.place.set);
        self.secrets.texts.push((text.to_owned(), false));
        is_plain
    }

    /// The value of a header or cookie of this name.
    pub(super) fn note_header(&mut self, name: &str, node: &Node) {
        if name.eq_ignore_ascii_case("cookie") {
            // Cookies in the text are mostly settings: no warning.
            self.secrets.sets.extend(node.place.set);
            let text = node.text().unwrap_or_default();
            self.secrets.texts.push((text.to_owned(), true));
        } else if is_secret_header(name) {
            self.note_secret(node);
        }
    }

    /// A variable that a session sets, or a parameter, to this text.
    pub(super) fn note_variable(&mut self, name: &str, node: &Node) {
        let text = node.text().unwrap_or_default();
        // Parameters mostly have such a text until they are set: no warning.
        let is_plain = !text.contains("${") && !text.is_empty() && !node.is_null();
        if is_plain && node.place.set.is_none() && self.secrets.names.contains(name) {
            let span = node.place.span.clone();
            self.secrets.plain.push(SecretText { span, value: text.to_owned() });
        }
        self.secrets.variables.push((name.to_owned(), text.to_owned()));
    }

    /// A variable that code of this text computes.
    pub(super) fn note_computed(&mut self, name: &str, code: &str) {
        self.secrets.variables.push((name.to_owned(), format!("${{{code}}}")));
    }

    /// What was found. Sessions get to know which of their variables hold secrets.
    pub(super) fn finish_secrets<'s>(
        &mut self,
        sessions: impl Iterator<Item = &'s mut Session>,
    ) -> FoundSecrets {
        let Secrets { mut sets, texts, variables, names, plain } =
            std::mem::take(&mut self.secrets);
        let closure = |wanted: bool| {
            let texts = texts.iter().filter(|(_, is_cookie)| *is_cookie == wanted);
            with_variables(texts.map(|(text, _)| text.clone()).collect(), &variables)
        };
        let others = closure(false);
        let of_cookies = closure(true);
        for session in sessions {
            let slots = session.slot_names.iter().enumerate();
            let secret = slots.filter(|(_, name)| {
                let mut texts = others.iter().chain(&of_cookies);
                names.contains(name) || texts.any(|text| uses(text, name))
            });
            session.secret_slots = secret.map(|(at, _)| index(at)).collect();
        }
        sets.extend(self.reaching(&others));
        let overrides = self.settings.overrides.iter().enumerate();
        sets.extend(overrides.filter_map(|(at, (key, _))| {
            let name = key.rsplit('.').next().unwrap_or(key);
            names.contains(name).then_some(at)
        }));
        let mut cookies = self.reaching(&of_cookies);
        cookies.retain(|at| !sets.contains(at));
        sets.extend(&cookies);
        sets.sort_unstable();
        sets.dedup();
        FoundSecrets { sets, cookie_sets: cookies, texts: plain, names }
    }

    /// The overrides of parameters that these texts use.
    fn reaching(&self, texts: &[String]) -> Vec<usize> {
        let params = self.params.iter();
        let used = params.filter(|param| texts.iter().any(|text| uses(text, &param.name)));
        used.filter_map(|param| param.place.set).collect()
    }
}

/// The texts, and those of the variables that reach them.
fn with_variables(mut texts: Vec<String>, variables: &[(String, String)]) -> Vec<String> {
    let mut variables: Vec<&(String, String)> = variables.iter().collect();
    let mut at = 0;
    while let Some(text) = texts.get(at).cloned() {
        let used = variables.extract_if(.., |(name, _)| uses(&text, name));
        texts.extend(used.map(|(_, text)| text.clone()));
        at += 1;
    }
    texts
}

/// True if the name occurs in an expression of the text.
fn uses(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.contains("${")
        && text.match_indices(name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + name.len()..].chars().next();
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
}
