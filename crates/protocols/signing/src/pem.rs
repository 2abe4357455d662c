//! Private keys in PEM (RFC 7468), and what stands there instead.

use ring::error::KeyRejected;
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;

use crate::Algorithm;

/// Object identifiers in DER: rsaEncryption (RFC 8017 §C), id-ecPublicKey and the named curves (RFC 5480 §2.1.1),
/// id-Ed25519 (RFC 8410 §3).
const OID_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const OID_EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const OID_P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const OID_P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
const OID_P521: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x23];
const OID_ED25519: &[u8] = &[0x06, 0x03, 0x2b, 0x65, 0x70];

/// The contents of a text that was to be a private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PemContent {
    Nothing,
    Encrypted,
    Public,
    Certificate,
    Rsa,
    P256,
    P384,
    P521,
    Ed25519,
    Other,
}

/// A text is no key for an algorithm. Its message goes on from what the text is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyError {
    algorithm: Algorithm,
    found: PemContent,
    /// It is a key of that kind, but cannot be used.
    why: Option<String>,
}

impl std::error::Error for KeyError {}

impl std::fmt::Display for KeyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let found = match self.found {
            PemContent::Nothing => "holds no private key in PEM",
            PemContent::Encrypted => "holds an encrypted key",
            PemContent::Public => "holds a public key",
            PemContent::Certificate => "holds a certificate",
            PemContent::Rsa => "holds an RSA key",
            PemContent::P256 => "holds an elliptic-curve key (P-256)",
            PemContent::P384 => "holds an elliptic-curve key (P-384)",
            PemContent::P521 => "holds an elliptic-curve key (P-521)",
            PemContent::Ed25519 => "holds an Ed25519 key",
            PemContent::Other => "holds a key of another kind",
        };
        let name = self.algorithm.name();
        let needs = needs(self.algorithm);
        match &self.why {
            Some(why) => write!(f, "{found} that cannot be used ({why}); {name} needs {needs}"),
            None => write!(f, "{found}; {name} needs {needs}"),
        }
    }
}

impl KeyError {
    pub(crate) fn refused(algorithm: Algorithm, refused: KeyRejected) -> KeyError {
        KeyError { algorithm, found: wanted(algorithm), why: Some(refused.to_string()) }
    }

    /// How to make what is needed.
    pub fn hint(&self) -> String {
        if self.found == PemContent::Encrypted {
            return "decrypt it: openssl pkey -in encrypted.pem -out key.pem".to_owned();
        }
        let options = match wanted(self.algorithm) {
            PemContent::P256 => "EC -pkeyopt ec_paramgen_curve:P-256",
            PemContent::P384 => "EC -pkeyopt ec_paramgen_curve:P-384",
            PemContent::Ed25519 => "ed25519",
            _ => "RSA -pkeyopt rsa_keygen_bits:2048",
        };
        format!("make one: openssl genpkey -algorithm {options} -out key.pem")
    }
}

fn wanted(algorithm: Algorithm) -> PemContent {
    match algorithm {
        Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512 => PemContent::Other,
        Algorithm::Rs256
        | Algorithm::Rs384
        | Algorithm::Rs512
        | Algorithm::Ps256
        | Algorithm::Ps384
        | Algorithm::Ps512 => PemContent::Rsa,
        Algorithm::Es256 => PemContent::P256,
        Algorithm::Es384 => PemContent::P384,
        Algorithm::EdDsa => PemContent::Ed25519,
    }
}

fn needs(algorithm: Algorithm) -> &'static str {
    match wanted(algorithm) {
        PemContent::P256 => "an elliptic-curve private key (P-256) in PEM",
        PemContent::P384 => "an elliptic-curve private key (P-384) in PEM",
        PemContent::Ed25519 => "an Ed25519 private key in PEM",
        _ => "an RSA private key of 2,048 to 4,096 bits in PEM",
    }
}

/// A private key without its armour.
pub(crate) enum Der {
    /// RFC 8017 §A.1.2.
    Pkcs1(Vec<u8>),
    /// RFC 5958.
    Pkcs8(Vec<u8>),
}

impl Der {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Der::Pkcs1(bytes) | Der::Pkcs8(bytes) => bytes,
        }
    }
}

/// The first private key of the text, which is of the algorithm's kind. Where an environment variable holds a key in one
/// line, `\n` stands for its line breaks.
pub(crate) fn read(algorithm: Algorithm, text: &str) -> Result<Der, KeyError> {
    let unfolded = (!text.trim().contains('\n')).then(|| text.replace("\\n", "\n"));
    let text = unfolded.as_deref().unwrap_or(text);
    let wrong = |found| KeyError { algorithm, found, why: None };
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes());
    let key = key.map_err(|_| wrong(instead(text)))?;
    let (found, der) = match key {
        PrivateKeyDer::Pkcs1(key) => (PemContent::Rsa, Der::Pkcs1(key.secret_pkcs1_der().to_vec())),
        PrivateKeyDer::Sec1(key) => {
            let key = key.secret_sec1_der();
            let found = curve_of(key);
            (found, Der::Pkcs8(as_pkcs8(found, key)))
        }
        PrivateKeyDer::Pkcs8(key) => {
            let key = key.secret_pkcs8_der();
            (kind_of(key), Der::Pkcs8(key.to_vec()))
        }
        _ => return Err(wrong(PemContent::Other)),
    };
    match found == wanted(algorithm) {
        true => Ok(der),
        false => Err(wrong(found)),
    }
}

/// The contents of a text that holds no private key.
fn instead(text: &str) -> PemContent {
    let holds = |label: &str| text.contains(&format!("-----BEGIN {label}"));
    match () {
        () if holds("ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") => {
            PemContent::Encrypted
        }
        () if holds("PUBLIC KEY") || holds("RSA PUBLIC KEY") => PemContent::Public,
        () if holds("CERTIFICATE") => PemContent::Certificate,
        () => PemContent::Nothing,
    }
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn curve_of(bytes: &[u8]) -> PemContent {
    match () {
        () if holds(bytes, OID_P256) => PemContent::P256,
        () if holds(bytes, OID_P384) => PemContent::P384,
        () if holds(bytes, OID_P521) => PemContent::P521,
        () => PemContent::Other,
    }
}

/// By its algorithm identifier, which stands at its beginning.
fn kind_of(pkcs8: &[u8]) -> PemContent {
    let start = &pkcs8[..pkcs8.len().min(40)];
    match () {
        () if holds(start, OID_RSA) => PemContent::Rsa,
        () if holds(start, OID_EC) => curve_of(start),
        () if holds(start, OID_ED25519) => PemContent::Ed25519,
        () => PemContent::Other,
    }
}

/// An elliptic-curve key of RFC 5915 in the form of RFC 5958 §2: version 0, the algorithm, the key.
fn as_pkcs8(curve: PemContent, key: &[u8]) -> Vec<u8> {
    let named: &[u8] = match curve {
        PemContent::P384 => OID_P384,
        _ => OID_P256,
    };
    let algorithm = [element(0x06, OID_EC), element(0x06, named)].concat();
    let parts = [vec![0x02, 0x01, 0x00], element(0x30, &algorithm), element(0x04, key)];
    element(0x30, &parts.concat())
}

/// Tag, length and content (X.690 §8.1).
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len().to_be_bytes();
    let used = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    match content.len() {
        0..128 => out.push(content.len() as u8),
        _ => {
            out.push(0x80 | used.len() as u8);
            out.extend_from_slice(used);
        }
    }
    out.extend_from_slice(content);
    out
}
