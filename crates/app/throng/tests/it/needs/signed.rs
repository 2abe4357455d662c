//! Signatures, verified by OpenSSL.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{Answer, Request, json, refused, sha256};
use crate::support::{Space, root};

pub(super) const ACCESS_KEY: &str = "AKIAIOSFODNN7EXAMPLE";
pub(super) const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

fn openssl(args: &[&str], input: &[u8]) -> (bool, Vec<u8>) {
    let mut command = Command::new("openssl");
    command.args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.success(), output.stdout)
}

/// A token whose header names the algorithm of its path, and a key.
pub(super) fn token(request: &Request) -> Answer {
    let algorithm = request.path.rsplit('/').next().unwrap_or_default();
    let token = request.header("authorization").strip_prefix("Bearer ");
    let Some((signed, signature)) = token.and_then(|token| token.rsplit_once('.')) else {
        return refused("no token");
    };
    let header = signed.split('.').next().unwrap_or_default();
    let header = URL_SAFE_NO_PAD.decode(header).unwrap();
    let expected = format!("{{\"alg\":\"{algorithm}\",\"typ\":\"JWT\",\"kid\":\"k1\"}}");
    if header != expected.as_bytes() {
        return refused("a wrong header");
    }
    let space = Space::new();
    let file = |name: &str, bytes: &[u8]| {
        let path = space.path(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let key = |name: &str| -> PathBuf { root().join("testdata/keys").join(name) };
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let text = file("text", signed.as_bytes());
    let verify = |public: &str, signature: &[u8], kind: &[&str]| {
        let public = key(public);
        let signature = file("signature", signature);
        let args = [
            &["pkeyutl", "-verify", "-pubin", "-rawin", "-inkey"][..],
            &[public.to_str().unwrap(), "-in", &text, "-sigfile", &signature],
            kind,
        ];
        openssl(&args.concat(), b"").0
    };
    let is_right = match algorithm {
        "RS256" => verify("rsa-public.pem", &signature, &["-digest", "sha256"]),
        "ES256" => verify("p256-public.pem", &der(&signature), &["-digest", "sha256"]),
        _ => verify("ed25519-public.pem", &signature, &[]),
    };
    match is_right {
        true => json(200, "{}"),
        false => refused("a wrong signature"),
    }
}

/// Two numbers of 32 bytes as OpenSSL reads a signature (RFC 3279 §2.2.3).
fn der(signature: &[u8]) -> Vec<u8> {
    let numbers = signature.chunks(32).flat_map(|number| {
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        let mut digits = number[zeros..].to_vec();
        if digits.first().is_none_or(|first| *first >= 0x80) {
            digits.insert(0, 0);
        }
        [vec![2, digits.len() as u8], digits].concat()
    });
    let numbers: Vec<u8> = numbers.collect();
    [vec![0x30, numbers.len() as u8], numbers].concat()
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    keyed("-sha256", key, text.as_bytes())
}

fn keyed(hash: &str, key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let key = format!("hexkey:{key}");
    let args = ["dgst", hash, "-mac", "HMAC", "-macopt", &key, "-binary"];
    openssl(&args, bytes).1
}

/// A one-time password of this half minute, or of the one before.
pub(super) fn code(request: &Request) -> Answer {
    match one_time_passwords().contains(&request.field("code")) {
        true => json(200, "{}"),
        false => refused("a wrong code"),
    }
}

/// Those of this half minute and of the one before.
pub(crate) fn one_time_passwords() -> [String; 2] {
    let half_minute = machine::clock::unix_ns() / 30_000_000_000;
    [half_minute, half_minute - 1].map(password)
}

/// RFC 6238 §4 and RFC 4226 §5.3, with the secret of the former's appendix B.
fn password(counter: u64) -> String {
    let mac = keyed("-sha1", b"12345678901234567890", &counter.to_be_bytes());
    let at = usize::from(mac[19] & 15);
    let number = u32::from_be_bytes([mac[at], mac[at + 1], mac[at + 2], mac[at + 3]]);
    format!("{:06}", (number & 0x7fff_ffff) % 1_000_000)
}

/// A request to S3, signed as its reference says. Its parts have only one form here, so that none needs an order.
pub(super) fn object(request: &Request) -> Answer {
    let header = |name: &str| request.header(name);
    let date = header("x-amz-date");
    let hash = header("x-amz-content-sha256");
    if date.len() != 16 || hash != sha256(&request.text()) {
        return refused("no date, or another body");
    }
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let canonical = format!(
        "{}\n{path}\n{query}\nhost:{}\nx-amz-content-sha256:{hash}\nx-amz-date:{date}\n\n\
         host;x-amz-content-sha256;x-amz-date\n{hash}",
        request.method,
        header("host"),
    );
    let scope = format!("{}/eu-west-1/s3/aws4_request", &date[..8]);
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", sha256(&canonical));
    let key = format!("AWS4{SECRET_KEY}").into_bytes();
    let key = scope.split('/').fold(key, |key, part| hmac(&key, part));
    let signature: String = hmac(&key, &text).iter().map(|b| format!("{b:02x}")).collect();
    let expected = format!(
        "AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, \
         SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature={signature}"
    );
    match header("authorization") == expected {
        true => json(200, "{}"),
        false => refused("a wrong signature"),
    }
}
