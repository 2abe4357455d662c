//! Keys of users and agents: they decide whose runs agents take, and who can read scenarios.
//!
//! A user's key signs runs (Ed25519). Agents that trust some keys refuse other runs. A scenario may hold secrets; it is
//! sealed (X25519, XSalsa20-Poly1305) to a key of the run alone, and the seed of that key to each agent and to the user.
//! All keys are written as NATS writes its own ([NKeys](https://docs.nats.io/using-nats/developer/connecting/nkey)).

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use nkeys::{KeyPair, XKey};
use serde::{Deserialize, Serialize};

/// Larger files are no keys.
const FILE_BYTES_MAX: u64 = 4 << 10;

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("cannot {action} {}: {problem}", path.display())]
    File { action: &'static str, path: PathBuf, problem: String },
    #[error("{0:?} is not a public key: it begins with U, and `throng fleet key` prints it")]
    Public(String),
    #[error("{0}")]
    Sealing(String),
}

/// A user's key.
pub struct UserKey {
    sign: KeyPair,
    seal: XKey,
}

impl std::fmt::Debug for UserKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UserKey({})", self.public())
    }
}

impl UserKey {
    /// Writes a new key to a file that only this user may read, and that did not exist.
    pub fn create(path: &Path) -> Result<UserKey, KeyError> {
        let key = UserKey { sign: KeyPair::new_user(), seal: XKey::new() };
        let seeds = key.sign.seed().and_then(|sign| Ok((sign, key.seal.seed()?)));
        let (sign, seal) = seeds.map_err(|error| KeyError::Sealing(error.to_string()))?;
        let mut how = OpenOptions::new();
        let file = how.write(true).create_new(true).mode(0o600).open(path);
        file.and_then(|mut file| writeln!(file, "{sign}\n{seal}"))
            .map_err(|error| failed("create", path, &error))?;
        Ok(key)
    }

    /// Reads what [`UserKey::create`] has written.
    pub fn read(path: &Path) -> Result<UserKey, KeyError> {
        let text = regular::read_text(path, FILE_BYTES_MAX);
        let text = text.map_err(|error| failed("read", path, &error))?;
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let (Some(sign), Some(seal), None) = (lines.next(), lines.next(), lines.next()) else {
            return Err(failed("read", path, &"it does not hold the two seeds of a key"));
        };
        Ok(UserKey {
            sign: KeyPair::from_seed(sign).map_err(|error| failed("read", path, &error))?,
            seal: XKey::from_seed(seal).map_err(|error| failed("read", path, &error))?,
        })
    }

    /// The public key, which agents may trust.
    pub fn public(&self) -> String {
        self.sign.public_key()
    }

    /// The key that signs, for others who sign in the user's name.
    pub(crate) fn pair(&self) -> KeyPair {
        self.sign.clone()
    }

    pub(crate) fn sign(&self, text: &[u8]) -> Result<Signature, KeyError> {
        let bytes = self.sign.sign(text).map_err(|error| sealing(&error))?;
        Ok(Signature { by: self.public(), bytes })
    }

    /// The key that opens what is sealed to the user.
    pub(crate) fn seal_key(&self) -> &XKey {
        &self.seal
    }
}

/// The seed of a key pair, for a process that is to sign by it.
pub(crate) fn seed_of(pair: &KeyPair) -> Result<String, KeyError> {
    pair.seed().map_err(|error| sealing(&error))
}

/// The key pair of this seed.
pub(crate) fn pair_of(seed: &str) -> Result<KeyPair, KeyError> {
    KeyPair::from_seed(seed).map_err(|error| sealing(&error))
}

/// Something sealed to one reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SealedText {
    /// The public key that it was sealed by.
    by: String,
    bytes: Vec<u8>,
}

impl SealedText {
    /// Seals to the reader with this public key.
    pub(crate) fn to(reader: &str, text: &[u8]) -> Result<SealedText, KeyError> {
        let by = XKey::new();
        let reader = XKey::from_public_key(reader).map_err(|error| sealing(&error))?;
        Ok(SealedText {
            bytes: by.seal(text, &reader).map_err(|error| sealing(&error))?,
            by: by.public_key(),
        })
    }

    /// Opens what was sealed to `reader`.
    pub(crate) fn open(&self, reader: &XKey) -> Result<Vec<u8>, KeyError> {
        let by = XKey::from_public_key(&self.by).map_err(|error| sealing(&error))?;
        reader.open(&self.bytes, &by).map_err(|error| sealing(&error))
    }
}

/// The purpose of a signed text. NATS servers have texts of their own signed, nonces, by keys that may be the same:
/// our texts begin with a byte that no UTF-8 has, and nonces are UTF-8.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    Offer,
    Drain,
    Handover,
    Rows,
    /// A message in the course of a run.
    Message,
    /// The description that an agent gives of itself.
    Card,
}

impl Purpose {
    /// The text that is signed for this purpose.
    pub(crate) fn text(self, text: &[u8]) -> Bytes {
        let purpose: &[u8] = match self {
            Purpose::Offer => b"\xffthrong offer\0",
            Purpose::Drain => b"\xffthrong drain\0",
            Purpose::Handover => b"\xffthrong handover\0",
            Purpose::Rows => b"\xffthrong rows\0",
            Purpose::Message => b"\xffthrong message\0",
            Purpose::Card => b"\xffthrong card\0",
        };
        [purpose, text].concat().into()
    }
}

/// The signature of a text, with the signer's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Signature {
    /// The public key.
    pub(crate) by: String,
    pub(crate) bytes: Vec<u8>,
}

/// Seals a scenario by its own key.
pub(crate) fn seal(key: &XKey, scenario: &[u8]) -> Result<Vec<u8>, KeyError> {
    key.seal(scenario, key).map_err(|error| sealing(&error))
}

/// The seed of a scenario's key, sealed to this reader.
pub(crate) fn seed_for(reader: &str, key: &XKey) -> Result<SealedText, KeyError> {
    SealedText::to(reader, key.seed().map_err(|error| sealing(&error))?.as_bytes())
}

/// The seed of a scenario's key that was sealed to `reader`.
pub(crate) fn seed(sealed: &SealedText, reader: &XKey) -> Result<String, KeyError> {
    let seed = String::from_utf8(sealed.open(reader)?);
    seed.map_err(|error| KeyError::Sealing(error.to_string()))
}

/// Opens a scenario by the seed of its key.
pub(crate) fn unseal(seed: &str, scenario: &[u8]) -> Result<(XKey, Vec<u8>), KeyError> {
    let key = XKey::from_seed(seed).map_err(|error| sealing(&error))?;
    let scenario = key.open(scenario, &key).map_err(|error| sealing(&error))?;
    Ok((key, scenario))
}

/// Opens a scenario whose key's seed was sealed to `reader`.
pub(crate) fn open(
    sealed: &SealedText,
    reader: &XKey,
    scenario: &[u8],
) -> Result<(XKey, Vec<u8>), KeyError> {
    unseal(&seed(sealed, reader)?, scenario)
}

fn sealing(error: &nkeys::error::Error) -> KeyError {
    KeyError::Sealing(format!("a key does not fit: {error}"))
}

fn failed(action: &'static str, path: &Path, problem: &dyn std::fmt::Display) -> KeyError {
    KeyError::File { action, path: path.to_owned(), problem: problem.to_string() }
}

/// The public key of a user, if it is one.
pub fn public_key(text: &str) -> Result<String, KeyError> {
    let is_user = text.starts_with('U') && KeyPair::from_public_key(text).is_ok();
    match is_user {
        true => Ok(text.to_owned()),
        false => Err(KeyError::Public(text.to_owned())),
    }
}

/// Whether the holder of this public key has signed the text.
pub(crate) fn is_signed(text: &[u8], signature: &Signature) -> bool {
    let key = KeyPair::from_public_key(&signature.by);
    key.is_ok_and(|key| key.verify(text, &signature.bytes).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_signs_and_others_do_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        let made = UserKey::create(&path).unwrap();
        let key = UserKey::read(&path).unwrap();
        assert_eq!(key.public(), made.public());
        assert!(UserKey::create(&path).is_err(), "it is there");
        let signed = |by: String| Signature { by, ..key.sign(b"run").unwrap() };
        assert!(is_signed(b"run", &signed(key.public())));
        assert!(!is_signed(b"ruin", &signed(key.public())));
        let other = UserKey::create(&directory.path().join("other")).unwrap();
        assert!(!is_signed(b"run", &signed(other.public())));
        assert!(!is_signed(b"run", &signed("U".to_owned())));
        assert_eq!(public_key(&key.public()).unwrap(), key.public());
        assert!(public_key("SUAB").is_err() && public_key("").is_err());
    }

    /// `async-nats` signs the nonce of a server as it is, and a hostile server may choose it.
    #[test]
    fn a_nonce_of_a_server_is_no_text_of_ours() {
        let texts = [Purpose::Offer, Purpose::Drain, Purpose::Handover].map(|p| p.text(b"{}"));
        for text in &texts {
            assert!(std::str::from_utf8(text).is_err());
        }
        assert!(texts[0] != texts[1] && texts[1] != texts[2]);
    }

    #[test]
    fn what_is_sealed_is_read_by_its_reader_only() {
        let reader = XKey::new();
        let other = XKey::new();
        let mut sealed = SealedText::to(&reader.public_key(), b"secret").unwrap();
        assert_eq!(sealed.open(&reader).unwrap(), b"secret");
        assert!(sealed.open(&other).is_err());
        let last = sealed.bytes.len() - 1;
        sealed.bytes[last] ^= 1;
        assert!(sealed.open(&reader).is_err(), "it was changed");
        assert!(SealedText::to("nobody", b"secret").is_err());
    }

    #[test]
    fn a_scenario_is_read_by_whom_its_seed_was_sealed_to() {
        let key = XKey::new();
        let agent = XKey::new();
        let sealed = seal(&key, b"scenario").unwrap();
        assert!(!sealed.windows(8).any(|part| part == b"scenario"));
        let seed = seed_for(&agent.public_key(), &key).unwrap();
        assert_eq!(open(&seed, &agent, &sealed).unwrap().1, b"scenario");
        assert!(open(&seed, &key, &sealed).is_err());
    }

    #[test]
    fn a_file_that_is_no_key_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        for text in ["", "one", "SU\nSX\n", "a\nb\nc\n"] {
            std::fs::write(&path, text).unwrap();
            assert!(UserKey::read(&path).is_err(), "{text:?}");
        }
    }
}
