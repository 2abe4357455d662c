//! Algorithms and keys.

use std::fmt;

use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512,
    RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};

use crate::pem::{self, Der, KeyError};
use crate::token::TokenError;

/// How a token is signed (RFC 7518 §3.1, RFC 8037 §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Hs256,
    Hs384,
    Hs512,
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

/// All by name.
const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("HS256", Algorithm::Hs256),
    ("HS384", Algorithm::Hs384),
    ("HS512", Algorithm::Hs512),
    ("RS256", Algorithm::Rs256),
    ("RS384", Algorithm::Rs384),
    ("RS512", Algorithm::Rs512),
    ("PS256", Algorithm::Ps256),
    ("PS384", Algorithm::Ps384),
    ("PS512", Algorithm::Ps512),
    ("ES256", Algorithm::Es256),
    ("ES384", Algorithm::Es384),
    ("EdDSA", Algorithm::EdDsa),
];

impl Algorithm {
    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        ALGORITHMS.iter().map(|(name, _)| *name)
    }

    /// The names of all, for messages.
    pub(crate) fn list() -> String {
        let names: Vec<&str> = Algorithm::names().collect();
        names.join(", ")
    }

    /// The algorithm of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn parse(name: &str) -> Result<Algorithm, TokenError> {
        let found = ALGORITHMS.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, algorithm)| *algorithm)
            .ok_or_else(|| TokenError::NoAlgorithm { name: name.chars().take(20).collect() })
    }

    /// As tokens name it.
    pub fn name(self) -> &'static str {
        let found = ALGORITHMS.iter().find(|(_, known)| *known == self);
        found.map_or("", |(name, _)| name)
    }

    /// True if the key is a shared secret, any text.
    pub fn is_keyed_hash(self) -> bool {
        matches!(self, Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512)
    }

    /// True if the signatures of the same text are equal.
    pub fn repeats(self) -> bool {
        match self {
            Algorithm::Ps256
            | Algorithm::Ps384
            | Algorithm::Ps512
            | Algorithm::Es256
            | Algorithm::Es384 => false,
            Algorithm::Hs256
            | Algorithm::Hs384
            | Algorithm::Hs512
            | Algorithm::Rs256
            | Algorithm::Rs384
            | Algorithm::Rs512
            | Algorithm::EdDsa => true,
        }
    }
}

/// A key and the algorithm that it is for.
pub struct Key {
    pub(crate) algorithm: Algorithm,
    kind: Kind,
}

enum Kind {
    Hash(hmac::Key),
    Rsa(Box<RsaKeyPair>, &'static dyn RsaEncoding),
    Curve(EcdsaKeyPair),
    Edwards(Ed25519KeyPair),
}

impl Key {
    /// Reads a key: of a keyed hash any text, else a private key in PEM.
    ///
    /// # Errors
    /// If the text holds something else; the error says what.
    pub fn new(algorithm: Algorithm, text: &str) -> Result<Key, KeyError> {
        let kind = match algorithm {
            Algorithm::Hs256 => hashing(hmac::HMAC_SHA256, text),
            Algorithm::Hs384 => hashing(hmac::HMAC_SHA384, text),
            Algorithm::Hs512 => hashing(hmac::HMAC_SHA512, text),
            Algorithm::Rs256 => rsa(algorithm, &RSA_PKCS1_SHA256, text)?,
            Algorithm::Rs384 => rsa(algorithm, &RSA_PKCS1_SHA384, text)?,
            Algorithm::Rs512 => rsa(algorithm, &RSA_PKCS1_SHA512, text)?,
            Algorithm::Ps256 => rsa(algorithm, &RSA_PSS_SHA256, text)?,
            Algorithm::Ps384 => rsa(algorithm, &RSA_PSS_SHA384, text)?,
            Algorithm::Ps512 => rsa(algorithm, &RSA_PSS_SHA512, text)?,
            Algorithm::Es256 => curve(algorithm, &ECDSA_P256_SHA256_FIXED_SIGNING, text)?,
            Algorithm::Es384 => curve(algorithm, &ECDSA_P384_SHA384_FIXED_SIGNING, text)?,
            Algorithm::EdDsa => edwards(text)?,
        };
        Ok(Key { algorithm, kind })
    }

    pub(crate) fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, TokenError> {
        let failed = |_| TokenError::CannotSign(self.algorithm.name());
        let random = SystemRandom::new();
        Ok(match &self.kind {
            Kind::Hash(key) => hmac::sign(key, bytes).as_ref().to_vec(),
            Kind::Rsa(key, encoding) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(*encoding, &random, bytes, &mut signature).map_err(failed)?;
                signature
            }
            Kind::Curve(key) => key.sign(&random, bytes).map_err(failed)?.as_ref().to_vec(),
            Kind::Edwards(key) => key.sign(bytes).as_ref().to_vec(),
        })
    }
}

/// Without the key.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.algorithm.name())
    }
}

fn hashing(algorithm: hmac::Algorithm, text: &str) -> Kind {
    Kind::Hash(hmac::Key::new(algorithm, text.as_bytes()))
}

#[cfg(test)]
impl Key {
    /// A key of HS256 that is no text.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Key {
        Key {
            algorithm: Algorithm::Hs256,
            kind: Kind::Hash(hmac::Key::new(hmac::HMAC_SHA256, bytes)),
        }
    }
}

fn rsa(
    algorithm: Algorithm,
    encoding: &'static dyn RsaEncoding,
    text: &str,
) -> Result<Kind, KeyError> {
    let der = pem::read(algorithm, text)?;
    let key = match &der {
        Der::Pkcs1(bytes) => RsaKeyPair::from_der(bytes),
        Der::Pkcs8(bytes) => RsaKeyPair::from_pkcs8(bytes),
    };
    let key = key.map_err(|refused| KeyError::refused(algorithm, refused))?;
    Ok(Kind::Rsa(Box::new(key), encoding))
}

fn curve(
    algorithm: Algorithm,
    signing: &'static EcdsaSigningAlgorithm,
    text: &str,
) -> Result<Kind, KeyError> {
    let der = pem::read(algorithm, text)?;
    let key = EcdsaKeyPair::from_pkcs8(signing, der.bytes(), &SystemRandom::new());
    key.map(Kind::Curve).map_err(|refused| KeyError::refused(algorithm, refused))
}

fn edwards(text: &str) -> Result<Kind, KeyError> {
    let algorithm = Algorithm::EdDsa;
    let der = pem::read(algorithm, text)?;
    // Most tools leave out the public key, so it cannot be compared.
    let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.bytes());
    key.map(Kind::Edwards).map_err(|refused| KeyError::refused(algorithm, refused))
}
