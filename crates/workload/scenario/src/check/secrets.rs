//! Which overrides hold secrets.
//!
//! Secrets must not reach the record. The record keeps the scenario's text, in which
//! `${env('NAME')}` stands as it is written, and `--set` without the values noted here: those that
//! reach a header, cookie or credential, by whatever variables they pass, and those that are named
//! like a secret.

use super::{Checker, index};
use crate::document::node::Node;
use plan::secret::password_of;
use plan::{Session, is_secret_header};

/// Names of parameters whose values are secret wherever they are used.
const NAMES: &[&str] =
    &["password", "passwd", "secret", "token", "api_key", "apikey", "access_token", "auth_token"];

/// Values that reach secret places, collected while a scenario is checked.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    /// Overrides that stand at a secret place themselves, by their place in the list.
    sets: Vec<usize>,
    /// Texts at secret places, and whether that is a cookie.
    texts: Vec<(String, bool)>,
    /// Variables, and the texts that they are set to.
    variables: Vec<(String, String)>,
}

impl Checker<'_> {
    /// Notes a value as secret. One that stands in the text is warned of, for the record keeps the
    /// text.
    pub(super) fn note_secret(&mut self, node: &Node) {
        self.note(node, "this secret is stored in the run directory");
    }

    /// A setting of a built-in system, which came out as `value`: secret if it is an address with a password. The record
    /// leaves the password out.
    pub(super) fn note_setting(&mut self, node: &Node, value: &str) {
        if password_of(value).is_some() {
            self.note(node, "whoever reads the scenario reads this password");
        }
    }

    fn note(&mut self, node: &Node, warning: &str) {
        let text = node.text().unwrap_or_default();
        self.secrets.sets.extend(node.place.set);
        if !text.contains("${") && node.place.set.is_none() && !text.is_empty() {
            self.diagnostics
                .warning("plain-secret", &node.place, warning)
                .label("in the scenario's text")
                .hint("write \"${env('NAME')}\" and set the environment variable");
        }
        self.secrets.texts.push((text.to_owned(), false));
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
        self.secrets.variables.push((name.to_owned(), text.to_owned()));
    }

    /// A variable that code of this text computes.
    pub(super) fn note_computed(&mut self, name: &str, code: &str) {
        self.secrets.variables.push((name.to_owned(), format!("${{{code}}}")));
    }

    /// The overrides that hold secrets, by their place in the list; and those of them that reach cookies only. Sessions
    /// get to know which of their variables hold secrets.
    pub(super) fn finish_secrets<'s>(
        &mut self,
        sessions: impl Iterator<Item = &'s mut Session>,
    ) -> (Vec<usize>, Vec<usize>) {
        let Secrets { mut sets, texts, variables } = std::mem::take(&mut self.secrets);
        let closure = |wanted: bool| {
            let texts = texts.iter().filter(|(_, is_cookie)| *is_cookie == wanted);
            with_variables(texts.map(|(text, _)| text.clone()).collect(), &variables)
        };
        let others = closure(false);
        let of_cookies = closure(true);
        for session in sessions {
            let names = session.slot_names.iter().enumerate();
            let secret = names.filter(|(_, name)| {
                let mut texts = others.iter().chain(&of_cookies);
                is_secret_name(name) || texts.any(|text| uses(text, name))
            });
            session.secret_slots = secret.map(|(at, _)| index(at)).collect();
        }
        sets.extend(self.reaching(&others));
        let overrides = self.settings.overrides.iter().enumerate();
        sets.extend(overrides.filter_map(|(at, (key, _))| {
            let name = key.rsplit('.').next().unwrap_or(key);
            is_secret_name(name).then_some(at)
        }));
        let mut cookies = self.reaching(&of_cookies);
        cookies.retain(|at| !sets.contains(at));
        sets.extend(&cookies);
        sets.sort_unstable();
        sets.dedup();
        (sets, cookies)
    }

    /// The overrides of parameters that these texts use.
    fn reaching(&self, texts: &[String]) -> Vec<usize> {
        let params = self.params.iter();
        let used = params.filter(|param| texts.iter().any(|text| uses(text, &param.name)));
        used.filter_map(|param| param.place.set).collect()
    }
}

fn is_secret_name(name: &str) -> bool {
    NAMES.iter().any(|secret| name.eq_ignore_ascii_case(secret))
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
