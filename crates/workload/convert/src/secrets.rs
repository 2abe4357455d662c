//! Secrets of the files that are converted: they become variables of the environment.

use std::ops::Range;

use plan::is_secret_header;
use plan::secret::{SecretNames, named_values};

use crate::diagnostics::Diagnostics;
use crate::template::quoted;

/// A cookie of this length is a key, not a setting.
const COOKIE_BYTES_MIN: usize = 16;

/// A secret, and the variable that stands for it.
#[derive(Debug)]
struct Secret {
    variable: String,
    value: String,
    at: Range<usize>,
}

/// The secrets of a conversion.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    names: SecretNames,
    found: Vec<Secret>,
    /// Variables that the original itself takes from the environment.
    given: Vec<String>,
    /// Those of them that begin a URL.
    addresses: Vec<String>,
}

impl Secrets {
    /// The expression that stands for a secret value: `env('NAME')`. `hint`: the name that it has in the original.
    pub(crate) fn expression(&mut self, hint: &str, value: &str, at: &Range<usize>) -> String {
        let known = self.found.iter().find(|secret| secret.value == value && !value.is_empty());
        if let Some(known) = known {
            return format!("env({})", quoted(&known.variable));
        }
        let variable = self.unused(hint);
        let expression = format!("env({})", quoted(&variable));
        self.found.push(Secret { variable, value: value.to_owned(), at: at.clone() });
        expression
    }

    /// The same as a template.
    pub(crate) fn template(&mut self, hint: &str, value: &str, at: &Range<usize>) -> String {
        format!("${{{}}}", self.expression(hint, value, at))
    }

    /// The expression for a variable that the original itself takes from the environment.
    pub(crate) fn given(&mut self, name: &str) -> String {
        if !self.given.iter().any(|known| known == name) {
            self.given.push(name.to_owned());
        }
        format!("env({})", quoted(name))
    }

    /// Notes that a URL begins with such a variable.
    pub(crate) fn begins_url(&mut self, name: &str) {
        self.addresses.push(name.to_owned());
    }

    /// A value of the kind that a variable must have, for the check of what was written.
    pub(crate) fn stand_in(&self, name: &str) -> String {
        let is_address = self.addresses.iter().any(|known| known == name);
        if is_address { "http://value.test" } else { "value" }.to_owned()
    }

    fn unused(&self, hint: &str) -> String {
        let fits = |c: char| {
            if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }
        };
        let name: String = hint.chars().take(60).map(fits).collect();
        let is_sound = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let name = if is_sound { name } else { format!("SECRET_{name}") };
        let is_taken = |name: &String| {
            self.found.iter().any(|secret| secret.variable == *name) || self.given.contains(name)
        };
        let mut free = name.clone();
        let mut count = 1;
        while is_taken(&free) {
            count += 1;
            free = format!("{name}_{count}");
        }
        free
    }

    /// A header's value: what is secret in it stands in the environment. The scheme of credentials stays.
    pub(crate) fn header(&mut self, name: &str, value: &str, at: &Range<usize>) -> String {
        if !is_secret_header(name) || value.is_empty() || value.contains("${") {
            return value.to_owned();
        }
        match value.split_once(' ') {
            Some((scheme, rest)) if name.contains("authorization") && !rest.is_empty() => {
                format!("{scheme} {}", self.template(name, rest, at))
            }
            _ => self.template(name, value, at),
        }
    }

    /// The value of a field, variable or cookie of this name.
    pub(crate) fn named(&mut self, name: &str, value: &str, at: &Range<usize>) -> String {
        match self.is_secret(name) && !value.is_empty() && !value.contains("${") {
            true => self.template(name, value, at),
            false => value.to_owned(),
        }
    }

    /// A cookie's value: long ones are keys of sessions, whatever their names.
    pub(crate) fn cookie(&mut self, name: &str, value: &str, at: &Range<usize>) -> String {
        let is_key = self.is_secret(name) || value.len() >= COOKIE_BYTES_MIN;
        match is_key && !value.is_empty() && !value.contains("${") {
            true => self.template(name, value, at),
            false => value.to_owned(),
        }
    }

    /// Whether values of this name are secret.
    pub(crate) fn is_secret(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// A URL or body, in which values of secret names stand: `token=…`, `"token": …`.
    pub(crate) fn text(&mut self, text: &str, at: &Range<usize>) -> String {
        let mut out = text.to_owned();
        for range in named_values(text, &self.names).into_iter().rev() {
            let value = &text[range.clone()];
            if value.contains("${") {
                continue;
            }
            let before = text[..range.start].trim_end_matches(['"', ':', '=', '\\', ' ']);
            let is_part = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            let name = before[before.trim_end_matches(is_part).len()..].to_owned();
            let template = self.template(&name, value, at);
            out.replace_range(range, &template);
        }
        out
    }

    /// Reports each variable that has to be set.
    pub(crate) fn report(&self, diagnostics: &mut Diagnostics<'_>) {
        for secret in &self.found {
            let name = &secret.variable;
            let message = format!("a secret is read from the environment variable `{name}`");
            let hint = "set it before `throng check` and `throng run`";
            diagnostics.secret(secret.at.clone(), message).hint(hint);
        }
    }

    /// The comment of a scenario that names the variables.
    pub(crate) fn comment(&self) -> Option<String> {
        let found = self.found.iter().map(|secret| &*secret.variable);
        let names: Vec<&str> = self.given.iter().map(String::as_str).chain(found).collect();
        (!names.is_empty())
            .then(|| format!("Set these environment variables: {}", names.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_become_variables_of_the_environment() {
        let mut secrets = Secrets::default();
        assert_eq!(
            secrets.header("authorization", "Bearer abc", &(0..0)),
            "Bearer ${env('AUTHORIZATION')}"
        );
        assert_eq!(secrets.header("x-api-key", "k", &(0..0)), "${env('X_API_KEY')}");
        assert_eq!(secrets.header("accept", "text/html", &(0..0)), "text/html");
        assert_eq!(secrets.header("x-csrf-token", "${token}", &(0..0)), "${token}");
        assert_eq!(
            secrets.text("user=a&password=p1&x=2", &(0..0)),
            "user=a&password=${env('PASSWORD')}&x=2"
        );
        // The same value is the same variable, another one of that name is not.
        assert_eq!(
            secrets.text("{\"password\": \"p1\", \"token\": \"abc\"}", &(0..0)),
            "{\"password\": \"${env('PASSWORD')}\", \"token\": \"${env('AUTHORIZATION')}\"}"
        );
        assert_eq!(secrets.named("password", "p2", &(0..0)), "${env('PASSWORD_2')}");
        assert_eq!(
            secrets.comment().as_deref(),
            Some("Set these environment variables: AUTHORIZATION, X_API_KEY, PASSWORD, PASSWORD_2")
        );
    }
}
