//! Addresses of NATS servers. They are never shown with their passwords.

use std::fmt;
use std::sync::Arc;

use async_nats::ServerAddr;
use server::{HIDDEN, redacted};
use trust::{ClientConfig, Verify};

/// A server's URL.
#[derive(Clone)]
pub struct NatsAddress {
    pub(super) server: ServerAddr,
    pub(super) login: Login,
    /// The TLS that the URL wants.
    pub(super) tls: Option<Arc<ClientConfig>>,
    shown: String,
}

/// Credentials of the connection.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Login {
    Nobody,
    Token(String),
    User { name: String, password: String },
}

/// Why an address of NATS was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{shown} is not the address of a NATS server: {problem}")]
pub struct NatsAddressError {
    /// Without its password.
    shown: String,
    problem: String,
}

impl NatsAddress {
    /// `nats://USER:PASSWORD@HOST:PORT`, or `tls://…` for TLS, which may end with `?ssl_ca_certs=FILE`.
    pub(crate) fn parse(text: &str) -> Result<Self, NatsAddressError> {
        // Redis' URLs name a file of authorities in the same way.
        let (url, ca) = trust::redis_url(text);
        let shown = shown(&url);
        let refused = |problem: String| NatsAddressError { shown: shown.clone(), problem };
        let server: ServerAddr =
            url.parse().map_err(|error: std::io::Error| refused(error.to_string()))?;
        let parsed = server.clone().into_inner();
        if !matches!(parsed.path(), "" | "/") || parsed.query().is_some() {
            let problem = "nothing may follow HOST:PORT but ?ssl_ca_certs=FILE";
            return Err(refused(problem.to_owned()));
        }
        if parsed.host_str().is_none_or(str::is_empty) {
            return Err(refused("the host is missing".to_owned()));
        }
        let mut pems = Vec::new();
        if let Some(file) = ca {
            if !server.tls_required() {
                return Err(refused("ssl_ca_certs needs tls://".to_owned()));
            }
            let pem = regular::read(&file, trust::pem::FILE_BYTES_MAX);
            let name = file.display().to_string();
            let pem = pem.map_err(|error| refused(format!("{name}: {error}")))?;
            pems.push((name, pem));
        }
        let tls = server
            .tls_required()
            .then(|| trust::client_config(Verify::All, &pems, None))
            .transpose()
            .map_err(|error| refused(error.to_string()))?;
        let part =
            |part| trust::decoded_strictly(part).ok_or_else(|| refused("bad % in it".to_owned()));
        let login = match (server.username(), server.password()) {
            (None, None) => Login::Nobody,
            (Some(token), None) => Login::Token(part(token)?),
            (name, password) => Login::User {
                name: part(name.unwrap_or_default())?,
                password: part(password.unwrap_or_default())?,
            },
        };
        Ok(Self { server, login, tls, shown })
    }

    /// The client's message [without the password or token](redacted).
    pub(super) fn redact(&self, text: &str) -> String {
        match &self.login {
            Login::Token(secret) | Login::User { password: secret, .. } => redacted(text, secret),
            Login::Nobody => text.to_owned(),
        }
    }
}

impl PartialEq for NatsAddress {
    fn eq(&self, other: &Self) -> bool {
        self.server == other.server
    }
}

impl Eq for NatsAddress {}

impl fmt::Display for NatsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for NatsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A URL without its secrets: a password, or a token in place of the user.
fn shown(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    // A password may contain unescaped characters: it ends at the last @.
    let (user, host) = match rest.rsplit_once('@') {
        None => (String::new(), rest),
        Some((info, host)) => match info.split_once(':') {
            Some((user, _)) => (format!("{user}:{HIDDEN}@"), host),
            None => (format!("{HIDDEN}@"), host),
        },
    };
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    format!("{scheme}://{user}{host}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_passwords_are_unescaped() {
        let login = |text| NatsAddress::parse(text).unwrap().login;
        let user = |name: &str, password: &str| Login::User {
            name: name.to_owned(),
            password: password.to_owned(),
        };
        assert!(login("nats://h") == Login::Nobody);
        assert!(login("nats://a%2Fb@h") == Login::Token("a/b".to_owned()));
        assert!(login("nats://ann:p%40%3a@h:1") == user("ann", "p@:"));
        assert!(NatsAddress::parse("nats://ann:%zz@h").is_err());
    }
}
