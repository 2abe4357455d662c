use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, RSA_PSS_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;

use super::*;

fn pem(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/keys");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn key(algorithm: Algorithm, name: &str) -> Key {
    Key::new(algorithm, &pem(name)).unwrap()
}

fn refusal(algorithm: Algorithm, text: &str) -> String {
    Key::new(algorithm, text).unwrap_err().to_string()
}

const CLAIMS: &str =
    "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}";
const ENCODED: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

/// RFC 7515 appendix A.1, whose key is no text.
#[test]
fn a_token_with_a_keyed_hash_is_that_of_the_rfc() {
    let header = "{\"typ\":\"JWT\",\r\n \"alg\":\"HS256\"}";
    let secret =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    let secret = URL_SAFE_NO_PAD.decode(secret).unwrap();
    let key = Key::of_bytes(&secret);
    assert_eq!(
        key.token(Some(header), CLAIMS).unwrap(),
        format!(
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.{ENCODED}.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        )
    );
}

/// RFC 7515 appendix A.2, with its key in both forms.
#[test]
fn a_token_with_rsa_is_that_of_the_rfc() {
    for file in ["rsa.pem", "rsa-pkcs1.pem"] {
        let token = key(Algorithm::Rs256, file).token(Some("{\"alg\":\"RS256\"}"), CLAIMS);
        assert_eq!(
            token.unwrap(),
            format!(
                "eyJhbGciOiJSUzI1NiJ9.{ENCODED}.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4\
                 Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPv\
                 kSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOY\
                 EUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
            )
        );
    }
}

/// RFC 8037 appendix A.4, whose payload is no JSON.
#[test]
fn a_signature_with_ed25519_is_that_of_the_rfc() {
    let header = URL_SAFE_NO_PAD.encode("{\"alg\":\"EdDSA\"}");
    let key = key(Algorithm::EdDsa, "ed25519.pem");
    assert_eq!(
        key.signed(&header, b"Example of Ed25519 signing").unwrap(),
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR\
         4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    );
}

#[track_caller]
fn verifies(token: &str, how: &'static dyn VerificationAlgorithm, public: &str) {
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let public = SubjectPublicKeyInfoDer::from_pem_slice(pem(public).as_bytes()).unwrap();
    // The key is the end of its description (RFC 5480 §2): a point of 65 or 97 bytes, or what follows the last header of
    // a bit string.
    let der = public.as_ref();
    let at = match der
        .windows(4)
        .position(|w| w == [0x03, 0x42, 0x00, 0x04] || w == [0x03, 0x62, 0x00, 0x04])
    {
        Some(at) => at + 3,
        None => der.windows(3).position(|w| w == [0x00, 0x30, 0x82]).unwrap() + 1,
    };
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    UnparsedPublicKey::new(how, &der[at..]).verify(signed.as_bytes(), &signature).unwrap();
}

/// The curve's key is that of RFC 7515 appendix A.3.
#[test]
fn signatures_that_differ_each_time_are_valid() {
    for file in ["p256.pem", "p256-sec1.pem"] {
        let key = key(Algorithm::Es256, file);
        let one = key.token(None, CLAIMS).unwrap();
        let two = key.token(None, CLAIMS).unwrap();
        assert_ne!(one, two);
        verifies(&one, &ECDSA_P256_SHA256_FIXED, "p256-public.pem");
    }
    let token = key(Algorithm::Es384, "p384.pem").token(None, CLAIMS).unwrap();
    verifies(&token, &ECDSA_P384_SHA384_FIXED, "p384-public.pem");
    let token = key(Algorithm::Ps256, "rsa.pem").token(None, CLAIMS).unwrap();
    verifies(&token, &RSA_PSS_2048_8192_SHA256, "rsa-public.pem");
    for name in Algorithm::names() {
        let algorithm = Algorithm::parse(name).unwrap();
        let differs = name.starts_with("PS") || name.starts_with("ES");
        assert_eq!(algorithm.repeats(), !differs, "{name}");
        assert_eq!(algorithm.name(), name);
    }
}

#[test]
fn a_key_in_one_line_is_read() {
    let folded = pem("rsa.pem").replace('\n', "\\n");
    let one = Key::new(Algorithm::Rs512, &folded).unwrap().token(None, CLAIMS);
    assert_eq!(one, key(Algorithm::Rs512, "rsa.pem").token(None, CLAIMS));
}

#[test]
fn headers_are_completed_or_taken_as_they_are() {
    for (own, expected) in [
        (None, r#"{"alg":"RS256","typ":"JWT"}"#),
        (Some("{}"), r#"{"alg":"RS256","typ":"JWT"}"#),
        (Some(r#"{"kid":"k1"}"#), r#"{"alg":"RS256","typ":"JWT","kid":"k1"}"#),
        (Some(r#"{"typ":"at+jwt"}"#), r#"{"alg":"RS256","typ":"at+jwt"}"#),
        (Some(r#"{ "kid": "1", "alg": "RS256" }"#), r#"{ "kid": "1", "alg": "RS256" }"#),
    ] {
        assert_eq!(header(Algorithm::Rs256, own).unwrap(), expected);
    }
    assert_eq!(header(Algorithm::Rs256, Some("[]")), Err(TokenError::Header));
    let other = header(Algorithm::Rs256, Some(r#"{"alg":"none"}"#)).unwrap_err();
    assert_eq!(
        other.to_string(),
        "the header says `alg` \"none\", and the token is signed with RS256"
    );
}

#[test]
fn what_is_no_key_for_the_algorithm_is_named() {
    for (algorithm, file, expected) in [
        (
            Algorithm::Rs256,
            "p256.pem",
            "holds an elliptic-curve key (P-256); RS256 needs an RSA private key of 2,048 to 4,096 bits in PEM",
        ),
        (Algorithm::Rs256, "p256-sec1.pem", "holds an elliptic-curve key (P-256); "),
        (
            Algorithm::Es256,
            "rsa.pem",
            "holds an RSA key; ES256 needs an elliptic-curve private key (P-256) in PEM",
        ),
        (Algorithm::Es256, "p384.pem", "holds an elliptic-curve key (P-384); "),
        (
            Algorithm::EdDsa,
            "rsa-pkcs1.pem",
            "holds an RSA key; EdDSA needs an Ed25519 private key in PEM",
        ),
        (Algorithm::Ps256, "ed25519.pem", "holds an Ed25519 key; PS256 needs"),
        (Algorithm::Rs256, "rsa-public.pem", "holds a public key; "),
        (Algorithm::Es256, "encrypted.pem", "holds an encrypted key; "),
        (Algorithm::Rs256, "rsa-small.pem", "holds an RSA key that cannot be used (TooSmall); "),
    ] {
        let found = refusal(algorithm, &pem(file));
        assert!(found.starts_with(expected), "{file}: {found}");
    }
    assert!(refusal(Algorithm::Rs256, "").starts_with("holds no private key in PEM; "));
    let damaged = pem("ed25519.pem").replace("MC4", "MC5");
    assert!(refusal(Algorithm::EdDsa, &damaged).contains("cannot be used"));
    let unknown = Algorithm::parse("none").unwrap_err().to_string();
    assert!(unknown.starts_with("there is no algorithm `none`; there are HS256, "), "{unknown}");
}

#[test]
fn a_signer_is_compared_without_its_key() {
    let signer = |header| Signer::new(Algorithm::EdDsa, &pem("ed25519.pem"), header).unwrap();
    assert_eq!(signer(None), signer(None));
    assert_ne!(signer(None), signer(Some("{\"kid\":1}")));
    let shown = format!("{:?}", signer(None));
    assert!(shown.contains("Key(EdDSA)"), "{shown}");
    let serialised = serde_json::to_string(&signer(None)).unwrap();
    assert!(serialised.starts_with("[\"EdDSA\",\""), "{serialised}");
    assert_eq!(signer(None).token(None, "[]"), Err(TokenError::Claims));
    let one = signer(Some("{\"kid\":1}")).token(None, "{}");
    assert_eq!(one, signer(None).token(Some("{\"kid\":1}"), "{}"));
}
