//! JSON Web Tokens: header and claims, signed (RFC 7515 §3.1, RFC 7519 §3).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{Algorithm, Key, KeyError};

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// No algorithm has this name.
    #[error("there is no algorithm `{name}`; there are {}", Algorithm::list())]
    NoAlgorithm { name: String },
    /// The key is not one for the algorithm.
    #[error("the key {0}")]
    Key(#[from] KeyError),
    /// The claims are no mapping.
    #[error("the claims are not a JSON object")]
    Claims,
    /// The header is no mapping.
    #[error("the header is not a JSON object")]
    Header,
    /// The header names another algorithm than the token is signed with.
    #[error("the header says `alg` {0}, and the token is signed with {1}")]
    OtherAlgorithm(String, &'static str),
    /// The key is too small for the algorithm's hash.
    #[error("the key cannot sign with {0}; use a larger one")]
    CannotSign(&'static str),
}

impl Key {
    /// A token with these claims. A `header` that names `alg` is taken as it is; else `alg` is put in front, and `typ`
    /// if it lacks that. Without one it is these two.
    ///
    /// # Errors
    /// Claims or header are no JSON object, or the header names another algorithm.
    pub fn token(&self, header: Option<&str>, claims: &str) -> Result<String, TokenError> {
        self.token_below(&encoded_header(self.algorithm, header)?, claims)
    }

    /// The same with a header in base64url.
    fn token_below(&self, header: &str, claims: &str) -> Result<String, TokenError> {
        if serde_json::from_str::<Map<String, Value>>(claims).is_err() {
            return Err(TokenError::Claims);
        }
        self.signed(header, claims.as_bytes())
    }

    /// Any payload, with a header in base64url (RFC 7515 §7.1).
    fn signed(&self, header: &str, payload: &[u8]) -> Result<String, TokenError> {
        let mut token = format!("{header}.{}", URL_SAFE_NO_PAD.encode(payload));
        let signature = self.sign(token.as_bytes())?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }
}

fn encoded_header(algorithm: Algorithm, own: Option<&str>) -> Result<String, TokenError> {
    Ok(URL_SAFE_NO_PAD.encode(header(algorithm, own)?))
}

fn header(algorithm: Algorithm, own: Option<&str>) -> Result<String, TokenError> {
    let name = algorithm.name();
    let own = own.unwrap_or("{}");
    let fields: Map<String, Value> = serde_json::from_str(own).map_err(|_| TokenError::Header)?;
    match fields.get("alg") {
        Some(alg) if alg == name => return Ok(own.to_owned()),
        Some(other) => return Err(TokenError::OtherAlgorithm(other.to_string(), name)),
        None => {}
    }
    let mut all = Map::new();
    all.insert("alg".to_owned(), Value::from(name));
    all.insert("typ".to_owned(), Value::from("JWT"));
    all.extend(fields);
    Ok(Value::Object(all).to_string())
}

/// A key that a plan holds: it is read once, and compared and serialised by a digest.
#[derive(Debug)]
pub struct Signer {
    key: Key,
    /// SHA-256 of the key's text.
    digest: String,
    /// In base64url, if it never varies.
    header: Option<String>,
}

impl Signer {
    /// Reads a key. `header`: that of all tokens; `None`: each token brings its own, if any.
    ///
    /// # Errors
    /// The key or the header cannot be used.
    pub fn new(
        algorithm: Algorithm,
        key: &str,
        header: Option<&str>,
    ) -> Result<Signer, TokenError> {
        let digest = digest::digest(&digest::SHA256, key.as_bytes());
        Ok(Signer {
            key: Key::new(algorithm, key)?,
            digest: units::hex(digest.as_ref()),
            header: header.map(|own| encoded_header(algorithm, Some(own))).transpose()?,
        })
    }

    /// A token with these claims, and with this header unless all have the same.
    ///
    /// # Errors
    /// The errors of [`Key::token`].
    pub fn token(&self, header: Option<&str>, claims: &str) -> Result<String, TokenError> {
        match &self.header {
            Some(header) => self.key.token_below(header, claims),
            None => self.key.token(header, claims),
        }
    }
}

impl PartialEq for Signer {
    fn eq(&self, other: &Signer) -> bool {
        self.key.algorithm == other.key.algorithm
            && (&self.digest, &self.header) == (&other.digest, &other.header)
    }
}

impl Serialize for Signer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.key.algorithm.name(), &self.digest, &self.header).serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
