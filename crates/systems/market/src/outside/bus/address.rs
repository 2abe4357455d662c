//! Addresses of buses.

use std::fmt;

use super::nats::{NatsAddress, NatsAddressError};
use server::database::{AddressError, ServerAddress};

/// Address of the bus between processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BusAddress {
    /// A Redis.
    Redis(ServerAddress),
    /// A NATS server with JetStream.
    Nats(NatsAddress),
}

/// Why an address was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BusAddressError {
    /// The URL's scheme is of neither.
    #[error("{0:?} is not a supported bus: give redis://…, rediss://…, nats://… or tls://…")]
    Scheme(String),
    /// Redis' client cannot read the URL.
    #[error(transparent)]
    Redis(#[from] AddressError),
    /// NATS' client cannot read the URL.
    #[error(transparent)]
    Nats(#[from] NatsAddressError),
}

impl BusAddress {
    /// Redis: `redis://…`, or `rediss://…` for TLS. NATS: `nats://USER:PASSWORD@HOST:PORT`, or `tls://…`.
    ///
    /// # Errors
    /// On other schemes, and on URLs that the client cannot read.
    pub fn parse(text: &str) -> Result<Self, BusAddressError> {
        match text.split_once("://").map(|(scheme, _)| scheme) {
            Some("redis" | "rediss") => Ok(Self::Redis(ServerAddress::cache(text)?)),
            Some("nats" | "tls") => Ok(Self::Nats(NatsAddress::parse(text)?)),
            Some(scheme) => Err(BusAddressError::Scheme(scheme.to_owned())),
            // It may be anything, a password among it.
            None => Err(BusAddressError::Scheme("an address without ://".to_owned())),
        }
    }
}

impl fmt::Display for BusAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redis(address) => write!(f, "{address}"),
            Self::Nats(address) => write!(f, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_distinguished_by_their_scheme() {
        for text in ["redis://:p@h:6379/2", "rediss://h/"] {
            let address = BusAddress::parse(text);
            assert!(matches!(address, Ok(BusAddress::Redis(_))), "{address:?}");
        }
        for text in ["nats://u:p@h:4222", "nats://h", "tls://u:p@h"] {
            let address = BusAddress::parse(text);
            assert!(matches!(address, Ok(BusAddress::Nats(_))), "{address:?}");
        }
        for text in ["", "h:4222", "http://h/", "mysql://h/"] {
            let error = BusAddress::parse(text).unwrap_err();
            assert!(matches!(error, BusAddressError::Scheme(_)), "{error}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            ("nats://me:hunter2@h:1", "nats://me:***@h:1"),
            ("tls://hunter2@h", "tls://***@h"),
            ("nats://h:1", "nats://h:1"),
            ("redis://:hunter2@h:1/2", "redis://:***@h:1/2"),
        ] {
            let address = BusAddress::parse(text).unwrap();
            assert_eq!(address.to_string(), shown);
            assert!(!format!("{address:?}").contains("hunter2"));
        }
        for text in [
            "nats://me:hunter2@host:notaport",
            "nats://me:hunter2@",
            "nats://me:hunter2@host:1/hunter2",
            "nats://me:hunter2@host?hunter2=1",
            "nats://me:hunter2@host?ssl_ca_certs=ca.pem",
            "tls://me:hunter2@host?ssl_ca_certs=/no/such/ca.pem",
            "hunter2",
        ] {
            let error = BusAddress::parse(text).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
