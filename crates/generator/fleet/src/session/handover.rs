//! The handover in a run's stream, for another controller.
//!
//! Agents may write it, since they put it back if NATS has lost it. So that none of them replaces it, the user's key signs
//! it, if there is one.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use workers::{Agent, Rows, Tolerances};

use crate::cards::json;
use crate::keys::{KeyError, Purpose, SealedText, Signature, UserKey, is_signed};
use crate::names;

/// The contents of the run's stream from which another controller continues the run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Handover {
    pub(super) throng: String,
    /// The scenario's name in the object store.
    pub(super) plan: String,
    /// The seed of its key, sealed to the user.
    #[serde(default)]
    pub(super) key: Option<SealedText>,
    /// The scenario's file.
    pub(super) scenario: String,
    pub(super) agents: Vec<Agent>,
    pub(super) tolerances: Tolerances,
    /// The place where rows are kept.
    #[serde(default)]
    pub(super) rows: Rows,
    /// By agent: the public key that must sign what it reports, if it must be signed.
    #[serde(default)]
    pub(super) signers: Vec<Option<String>>,
    /// When the run was begun, seconds since the Unix epoch.
    pub(super) begun_unix_s: u64,
    /// How long NATS keeps what the run has sent.
    #[serde(default)]
    pub(super) kept_s: u64,
    /// State that the controller itself keeps.
    pub(super) state: String,
    /// The signature of the user who has begun the run.
    #[serde(default)]
    pub(super) signature: Option<Signature>,
}

impl Handover {
    /// The text that is signed: all of it, for this run.
    fn text(&self, run: &str) -> Bytes {
        let unsigned = Handover { signature: None, ..self.clone() };
        Purpose::Handover.text(&json(&(run, unsigned)))
    }

    pub(super) fn sign(&mut self, run: &str, key: &UserKey) -> Result<(), KeyError> {
        self.signature = Some(key.sign(&self.text(run))?);
        Ok(())
    }

    /// Reads what was kept of a run, and checks that it may be continued by this version with this key. The error is for
    /// people.
    pub(super) fn read(
        kept: Option<&Bytes>,
        run: &str,
        throng: &str,
        key: Option<&UserKey>,
    ) -> Result<Handover, String> {
        let kept = kept.ok_or_else(|| {
            "its loops had not begun, or NATS does not keep it any more".to_owned()
        })?;
        let handover: Handover = serde_json::from_slice(kept)
            .map_err(|error| format!("what was kept of it cannot be read: {error}"))?;
        if handover.throng != throng {
            return Err(format!(
                "its agents are Throng {}, this is {throng}; both must have the same version",
                handover.throng
            ));
        }
        handover.check_key(run, key)?;
        match handover.agents.iter().find(|a| !names::is_name(&a.name)) {
            Some(agent) => Err(format!("what was kept of it names an agent {:?}", agent.name)),
            None => Ok(handover),
        }
    }

    fn check_key(&self, run: &str, key: Option<&UserKey>) -> Result<(), String> {
        let Some(key) = key else {
            return match &self.key {
                None => Ok(()),
                Some(_) => {
                    Err("its scenario is sealed; use the --key that it was begun with".to_owned())
                }
            };
        };
        let is_ours = |signature: &Signature| {
            signature.by == key.public() && is_signed(&self.text(run), signature)
        };
        match self.key.is_some() && self.signature.as_ref().is_some_and(is_ours) {
            true => Ok(()),
            false => Err(
                "what was kept of it is not signed by this --key: the run was begun without it, or somebody has \
                 replaced what was kept"
                    .to_owned(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::seed_for;

    fn handover() -> Handover {
        Handover {
            throng: "1.2.3".to_owned(),
            plan: "p".to_owned(),
            key: None,
            scenario: "s.yaml".to_owned(),
            agents: Vec::new(),
            tolerances: Tolerances { clock_bound_ns: 1, silence_ns: 2, rebalances: false },
            rows: Rows::Leave,
            signers: Vec::new(),
            begun_unix_s: 3,
            kept_s: 4,
            state: "{}".to_owned(),
            signature: None,
        }
    }

    fn read(handover: &Handover, key: Option<&UserKey>) -> Result<Handover, String> {
        Handover::read(Some(&json(handover)), "r", "1.2.3", key)
    }

    fn keys() -> [UserKey; 2] {
        let directory = tempfile::tempdir().unwrap();
        ["mine", "other"].map(|name| UserKey::create(&directory.path().join(name)).unwrap())
    }

    #[test]
    fn with_a_key_only_what_it_has_signed_is_continued() {
        let [mine, other] = keys();
        let plain = handover();
        assert!(read(&plain, None).is_ok());
        // An agent that replaces what was kept leaves out what it cannot make.
        let error = read(&plain, Some(&mine)).unwrap_err();
        assert!(error.contains("not signed by this --key"), "{error}");
        let mut sealed = handover();
        let seed = seed_for(&mine.seal_key().public_key(), mine.seal_key());
        sealed.key = Some(seed.unwrap());
        assert!(read(&sealed, Some(&mine)).is_err(), "it is not signed");
        sealed.sign("r", &mine).unwrap();
        assert!(read(&sealed, Some(&mine)).is_ok());
        assert!(read(&sealed, Some(&other)).is_err());
        assert!(read(&sealed, None).unwrap_err().contains("is sealed"));
        let of_another_run = Handover::read(Some(&json(&sealed)), "q", "1.2.3", Some(&mine));
        assert!(of_another_run.is_err());
        let changed = Handover { state: "{ }".to_owned(), ..sealed.clone() };
        assert!(read(&changed, Some(&mine)).is_err());
        sealed.sign("r", &other).unwrap();
        assert!(read(&sealed, Some(&mine)).is_err(), "by another key");
    }

    #[test]
    fn what_cannot_be_continued_is_an_error_that_says_why() {
        let nothing = Handover::read(None, "r", "1.2.3", None).unwrap_err();
        assert!(nothing.contains("its loops had not begun, or NATS does not keep it"), "{nothing}");
        for bad in [&b""[..], b"{", b"null", b"[1]"] {
            let bad = Bytes::copy_from_slice(bad);
            assert!(Handover::read(Some(&bad), "r", "1.2.3", None).is_err());
        }
        let mut other = handover();
        other.throng = "1.2.4".to_owned();
        assert!(read(&other, None).unwrap_err().contains("Throng 1.2.4"));
        let mut named = handover();
        named.agents = vec![Agent {
            name: "a.*".to_owned(),
            cores: 1,
            files_per_loop: 1,
            holds: 1,
            holds_with_target: 1,
            ports: 1,
            is_here: false,
        }];
        assert!(read(&named, None).unwrap_err().contains("names an agent \"a.*\""));
    }
}
