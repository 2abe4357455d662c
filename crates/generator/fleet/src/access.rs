//! How the NATS server of a fleet is reached: its URL, and who we are there.

use std::fmt;
use std::path::{Path, PathBuf};

use async_nats::{ConnectOptions, ServerAddr};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use trust::{Identity, Verify, client_config};

use crate::nats::NatsError;

/// Larger files hold no keys or certificates.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// How the NATS server of a fleet is reached.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    pub url: String,
    /// A credentials file: a user's JWT with the seed of its NKey.
    pub creds: Option<PathBuf>,
    /// A file with the seed of an NKey.
    pub nkey: Option<PathBuf>,
    /// PEM files of authorities that are trusted besides the system's.
    pub authorities: Vec<PathBuf>,
    /// PEM files of our own certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Access({})", shown(&self.url))
    }
}

impl Access {
    /// A server that requires no credentials, or for those of the URL.
    pub fn from_url(url: &str) -> Access {
        Access { url: url.to_owned(), ..Access::default() }
    }

    /// The server's address.
    pub(crate) fn address(&self) -> Result<ServerAddr, NatsError> {
        let parsed: Result<ServerAddr, std::io::Error> = self.url.parse();
        let address = parsed.map_err(|error| self.refused(error.to_string()))?;
        if address.host().is_empty() {
            return Err(self.refused("it names no host".to_owned()));
        }
        Ok(address)
    }

    fn refused(&self, problem: String) -> NatsError {
        NatsError::Url { url: shown(&self.url), problem }
    }

    /// A user or a password without the escapes of a URL (RFC 3986, section 2.1).
    fn decoded(&self, part: &str) -> Result<String, NatsError> {
        let text = percent_decode_str(part).decode_utf8();
        let text = text.map_err(|_| self.refused("its user is not UTF-8".to_owned()))?;
        Ok(text.into_owned())
    }

    /// Adds who we are, and whom we trust.
    pub(crate) fn apply(
        &self,
        mut options: ConnectOptions,
        address: &ServerAddr,
    ) -> Result<ConnectOptions, NatsError> {
        // The client leaves what stands before the host to us.
        options = match (address.username(), address.password()) {
            (Some(user), Some(password)) => {
                options.user_and_password(self.decoded(user)?, self.decoded(password)?)
            }
            (Some(token), None) => options.token(self.decoded(token)?),
            (None, _) => options,
        };
        if let Some(path) = &self.creds {
            let text = text(path)?;
            options = options.credentials(&text).map_err(|error| unusable(path, &error))?;
        }
        if let Some(path) = &self.nkey {
            // A key of `throng fleet key` has another seed behind it.
            let seed = text(path)?.lines().next().unwrap_or_default().trim().to_owned();
            nkeys::KeyPair::from_seed(&seed).map_err(|error| unusable(path, &error))?;
            options = options.nkey(seed);
        }
        if address.tls_required() || !self.authorities.is_empty() || self.identity.is_some() {
            let authorities = self.authorities.iter().map(|path| pem(path));
            let authorities: Vec<_> = authorities.collect::<Result<_, _>>()?;
            let identity = match &self.identity {
                Some((certificate, key)) => {
                    Some(Identity { certificate: pem(certificate)?, key: pem(key)? })
                }
                None => None,
            };
            let config = client_config(Verify::All, &authorities, identity.as_ref());
            let config = config.map_err(|error| NatsError::Tls(error.to_string()))?;
            options =
                options.require_tls(true).tls_client_config(trust::ClientConfig::clone(&config));
        }
        Ok(options)
    }
}

/// A URL without what may be secret.
pub(crate) fn shown(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, host)) => format!("…@{host}"),
        None => url.to_owned(),
    }
}

fn unusable(path: &Path, problem: &dyn fmt::Display) -> NatsError {
    NatsError::File { path: path.to_owned(), problem: problem.to_string() }
}

fn bytes(path: &Path) -> Result<Vec<u8>, NatsError> {
    regular::read(path, FILE_BYTES_MAX).map_err(|error| unusable(path, &error))
}

fn text(path: &Path) -> Result<String, NatsError> {
    String::from_utf8(bytes(path)?).map_err(|error| unusable(path, &error))
}

fn pem(path: &Path) -> Result<(String, Vec<u8>), NatsError> {
    Ok((path.display().to_string(), bytes(path)?))
}
