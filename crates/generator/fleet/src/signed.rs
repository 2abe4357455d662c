//! Signatures of what is sent in the course of a run.
//!
//! A controller with a key signs all that its agents act upon, an agent with a key all that it reports. A signature covers
//! the subject, which names the run, the agent and the direction, and the message with its position in all that is sent: one
//! that is sent once more changes nothing.

use std::fmt;

use async_nats::HeaderMap;
use nkeys::KeyPair;
use sha2::{Digest, Sha256};

use crate::keys::{Purpose, Signature, is_signed};

/// The header with the signature, in hexadecimal digits.
pub(crate) const HEADER: &str = "Throng-Signature";
/// The length of a signature (RFC 8032).
const SIGNATURE_BYTES: usize = 64;

/// The keys of both ways between a controller and an agent, as one of them has them.
#[derive(Clone, Default)]
pub(crate) struct RunKeys {
    /// Signs what is sent; `None`: nothing is signed.
    own: Option<KeyPair>,
    /// The public key that must have signed what is received; `None`: none must.
    peer: Option<String>,
}

impl fmt::Debug for RunKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunKeys(own: {}, peer: {:?})", self.own.is_some(), self.peer)
    }
}

impl RunKeys {
    pub(crate) fn new(own: Option<KeyPair>, peer: Option<String>) -> RunKeys {
        RunKeys { own, peer }
    }

    /// The signature of a message, as its header has it.
    pub(crate) fn sign(&self, subject: &str, payload: &[u8]) -> Option<String> {
        // A key that signs was made of its seed, so that it can.
        let bytes = self.own.as_ref()?.sign(&text(subject, payload)).ok()?;
        Some(units::hex(&bytes))
    }

    /// Whether a message may be taken.
    pub(crate) fn admit(&self, subject: &str, payload: &[u8], headers: Option<&HeaderMap>) -> bool {
        let Some(peer) = &self.peer else {
            return true;
        };
        let header = headers.and_then(|headers| headers.get(HEADER));
        let bytes = header.and_then(|value| units::from_hex(value.as_str()));
        // Verifying takes no other length.
        let bytes = bytes.filter(|bytes| bytes.len() == SIGNATURE_BYTES);
        bytes.is_some_and(|bytes| {
            is_signed(&text(subject, payload), &Signature { by: peer.clone(), bytes })
        })
    }
}

fn text(subject: &str, payload: &[u8]) -> bytes::Bytes {
    let digest = Sha256::digest(payload);
    Purpose::Message.text(&[subject.as_bytes(), b"\0", &digest[..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_taken_from_its_signer_on_its_subject_as_it_was_signed() {
        let key = KeyPair::new_user();
        let sender = RunKeys::new(Some(key.clone()), None);
        let receiver = RunKeys::new(None, Some(key.public_key()));
        let header = |signature: Option<String>| {
            signature.map(|signature| {
                let mut headers = HeaderMap::new();
                headers.insert(HEADER, signature);
                headers
            })
        };
        let admits = |subject: &str, payload: &[u8], signature: Option<String>| {
            receiver.admit(subject, payload, header(signature).as_ref())
        };
        let signature = sender.sign("a", b"adopt");
        assert!(admits("a", b"adopt", signature.clone()));
        assert!(!admits("b", b"adopt", signature.clone()), "another run, agent or direction");
        assert!(!admits("a", b"adapt", signature.clone()));
        assert!(!admits("a", b"adopt", None));
        for bad in ["", "zz", &"0".repeat(128), &"é".repeat(64)] {
            assert!(!admits("a", b"adopt", Some(bad.to_owned())), "{bad}");
        }
        let other = RunKeys::new(Some(KeyPair::new_user()), None);
        assert!(!admits("a", b"adopt", other.sign("a", b"adopt")));
        // Without keys nothing is signed, and anything is taken.
        assert_eq!(RunKeys::default().sign("a", b"adopt"), None);
        assert!(RunKeys::default().admit("a", b"adopt", None));
    }
}
