//! The part of a run that the workers of a fleet have from its store instead of their slices: all that may be secret, so
//! that it can be sealed.

use serde::{Deserialize, Serialize};

use super::protocol::Trust;
use crate::inputs::ScenarioText;

/// All of a run that may be secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Material {
    /// The scenario that the workers compile.
    pub scenario: ScenarioText,
    /// The certificates, with the users' own and its private key.
    pub trust: Option<Trust>,
}

impl Material {
    /// The serialised form, for workers of the same version.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("texts, bytes and lists of them have a serialised form")
    }

    /// Reads the serialised form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Material, postcard::Error> {
        postcard::from_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn material_is_read_as_it_was_written_and_rubbish_is_an_error() {
        let material = Material {
            scenario: ScenarioText {
                name: "s.yaml".to_owned(),
                text: "target: market\n".to_owned(),
                ..ScenarioText::default()
            },
            trust: Some(Trust { verify: true, ..Trust::default() }),
        };
        let bytes = material.to_bytes();
        assert_eq!(Material::from_bytes(&bytes), Ok(material));
        for bad in [&b""[..], b"\xff\xff\xff\xff\xff", &bytes[..bytes.len() - 1]] {
            assert!(Material::from_bytes(bad).is_err());
        }
    }
}
