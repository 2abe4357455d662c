//! Answering digest challenges: RFC 7616, with MD5, SHA-256 and their session forms, and `qop`
//! `auth` or, as before RFC 2617, none.

use std::fmt::Write;

use md5::Md5;
use sha2::Sha256;
use sha2::digest::Digest;

use super::challenge::{Challenge, challenges};

/// A challenge that a user answers, request after request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Session {
    realm: String,
    nonce: String,
    opaque: Option<String>,
    /// As the server wrote it, to be sent back; `None`: it named none.
    algorithm_name: Option<String>,
    hash: Hash,
    /// The key is of the session: hashed once more, with both nonces (section 3.4.2).
    is_session: bool,
    has_qop: bool,
    hashes_user: bool,
    pub(crate) stale: bool,
    /// How many requests were answered with this nonce.
    count: u32,
    /// The `cnonce` of the first answer, for session forms: their key does not change.
    first_cnonce: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hash {
    Md5,
    Sha256,
}

impl Hash {
    fn hex_digest(self, text: &str) -> String {
        match self {
            Hash::Md5 => units::hex(&Md5::digest(text.as_bytes())),
            Hash::Sha256 => units::hex(&Sha256::digest(text.as_bytes())),
        }
    }
}

/// The credentials, and the request to be authorised.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) user: &'a str,
    pub(crate) password: &'a str,
    pub(crate) method: &'a str,
    /// As in the request line.
    pub(crate) uri: &'a str,
}

impl Session {
    /// The strongest challenge that can be answered among those of `WWW-Authenticate` headers.
    pub(crate) fn strongest<'h>(headers: impl Iterator<Item = &'h [u8]>) -> Option<Session> {
        let mut best: Option<Session> = None;
        for header in headers {
            let Ok(header) = std::str::from_utf8(header) else {
                continue;
            };
            for challenge in challenges(header) {
                let session = Session::parse(&challenge);
                // Of equal ones the first is the server's choice (section 3.7).
                if let Some(session) = session
                    && best.as_ref().is_none_or(|best| session.hash > best.hash)
                {
                    best = Some(session);
                }
            }
        }
        best
    }

    fn parse(challenge: &Challenge) -> Option<Session> {
        if challenge.scheme != "digest" {
            return None;
        }
        let algorithm = challenge.get("algorithm").unwrap_or("MD5");
        let (hash, is_session) = match algorithm.to_ascii_uppercase().as_str() {
            "MD5" => (Hash::Md5, false),
            "MD5-SESS" => (Hash::Md5, true),
            "SHA-256" => (Hash::Sha256, false),
            "SHA-256-SESS" => (Hash::Sha256, true),
            _ => return None,
        };
        let has_qop = match challenge.get("qop") {
            Some(offered) if offered.split(',').any(|qop| qop.trim() == "auth") => true,
            // Integrity alone would need the body hashed; almost no server offers it.
            Some(_) => return None,
            None => false,
        };
        let is_true =
            |name: &str| challenge.get(name).is_some_and(|text| text.eq_ignore_ascii_case("true"));
        Some(Session {
            realm: challenge.get("realm")?.to_owned(),
            nonce: challenge.get("nonce")?.to_owned(),
            opaque: challenge.get("opaque").map(str::to_owned),
            algorithm_name: challenge.get("algorithm").map(str::to_owned),
            hash,
            is_session,
            has_qop,
            hashes_user: is_true("userhash"),
            stale: is_true("stale"),
            count: 0,
            first_cnonce: None,
        })
    }

    /// The value of `Authorization` for a request. `fresh`: 64 random bits, in which two answers
    /// differ.
    pub(crate) fn answer(&mut self, request: &Request<'_>, fresh: u64) -> String {
        self.answer_with(request, &format!("{fresh:016x}"))
    }

    /// Section 3.4.
    fn answer_with(&mut self, request: &Request<'_>, cnonce: &str) -> String {
        let &mut Session { hash, has_qop, .. } = self;
        self.count += 1;
        let first_cnonce = self.first_cnonce.get_or_insert_with(|| cnonce.to_owned()).clone();
        let count = format!("{:08x}", self.count);
        let realm = &self.realm;
        let nonce = &self.nonce;
        let mut secret = hash.hex_digest(&format!("{}:{realm}:{}", request.user, request.password));
        if self.is_session {
            secret = hash.hex_digest(&format!("{secret}:{nonce}:{first_cnonce}"));
        }
        let target = hash.hex_digest(&format!("{}:{}", request.method, request.uri));
        let response = if has_qop {
            hash.hex_digest(&format!("{secret}:{nonce}:{count}:{cnonce}:auth:{target}"))
        } else {
            hash.hex_digest(&format!("{secret}:{nonce}:{target}"))
        };
        let user = if self.hashes_user {
            hash.hex_digest(&format!("{}:{realm}", request.user))
        } else {
            request.user.to_owned()
        };
        let mut text = format!(
            "Digest username={}, realm={}, nonce={}, uri={}, response=\"{response}\"",
            quoted(&user),
            quoted(realm),
            quoted(nonce),
            quoted(request.uri)
        );
        if let Some(name) = &self.algorithm_name {
            text.push_str(", algorithm=");
            text.push_str(name);
        }
        if has_qop {
            // Writing to a String cannot fail.
            let _ = write!(text, ", qop=auth, nc={count}, cnonce={}", quoted(cnonce));
        } else if self.is_session {
            let _ = write!(text, ", cnonce={}", quoted(&first_cnonce));
        }
        if let Some(opaque) = &self.opaque {
            let _ = write!(text, ", opaque={}", quoted(opaque));
        }
        if self.hashes_user {
            text.push_str(", userhash=true");
        }
        text
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Request<'_> = Request {
        user: "Mufasa",
        password: "Circle of Life",
        method: "GET",
        uri: "/dir/index.html",
    };

    fn response(text: &str) -> &str {
        let after = text.split("response=\"").nth(1).unwrap();
        after.split('"').next().unwrap()
    }

    /// RFC 7616 section 3.9.1: two challenges, both answers.
    #[test]
    fn the_examples_of_rfc_7616() {
        let challenge = |algorithm: &str| {
            format!(
                "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", \
                 algorithm={algorithm}, nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", \
                 opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
            )
        };
        let sha = challenge("SHA-256");
        let md5 = challenge("MD5");
        let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
        let mut both = Session::strongest([md5.as_bytes(), sha.as_bytes()].into_iter()).unwrap();
        let answer = both.answer_with(&REQUEST, cnonce);
        assert_eq!(
            response(&answer),
            "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"
        );
        assert!(answer.contains("algorithm=SHA-256, qop=auth, nc=00000001"), "{answer}");
        assert!(answer.contains("opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""));
        let mut weak = Session::strongest(std::iter::once(md5.as_bytes())).unwrap();
        let answer = weak.answer_with(&REQUEST, cnonce);
        assert_eq!(response(&answer), "8ca523f5e9506fed4657c9700eebdbec");
        assert!(weak.answer_with(&REQUEST, cnonce).contains("nc=00000002"));
    }

    /// RFC 2617 section 3.5, whose password has one more capital letter, and RFC 2069's form
    /// without `qop` as its errata (749) work it out.
    #[test]
    fn the_examples_of_older_rfcs() {
        let header = b"Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", \
                       nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", \
                       opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"";
        let request = Request { password: "Circle Of Life", ..REQUEST };
        let mut session = Session::strongest(std::iter::once(&header[..])).unwrap();
        let answer = session.answer_with(&request, "0a4f113b");
        assert_eq!(response(&answer), "6629fae49393a05397450978507c4ef1");
        assert!(!answer.contains("algorithm"), "{answer}");
        let header = b"Digest realm=\"testrealm@host.com\", \
                       nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"";
        let request = Request { password: "CircleOfLife", ..REQUEST };
        let mut session = Session::strongest(std::iter::once(&header[..])).unwrap();
        let answer = session.answer_with(&request, "x");
        assert_eq!(response(&answer), "1949323746fe6a43ef61f9606e7febea");
        assert!(!answer.contains("qop"), "{answer}");
    }

    #[test]
    fn challenges_that_cannot_be_answered_are_skipped() {
        let of = |text: &str| Session::strongest(std::iter::once(text.as_bytes()));
        assert_eq!(of("Basic realm=\"x\""), None);
        assert_eq!(of("Digest realm=\"x\", nonce=\"n\", qop=\"auth-int\""), None);
        assert_eq!(of("Digest realm=\"x\", nonce=\"n\", algorithm=SHA-512-256"), None);
        assert_eq!(of("Digest realm=\"x\", qop=auth"), None);
        assert!(
            of("Basic realm=\"x\", Digest realm=\"x\", nonce=\"n\", stale=TRUE").unwrap().stale
        );
    }

    /// The values of the session forms come from Python's hashlib (checks/golden/digest.py).
    #[test]
    fn session_forms_keep_their_key_and_users_can_be_hashed() {
        let golden = include_str!("../../../../../testdata/golden/digest.json");
        let golden: serde_json::Value = serde_json::from_str(golden).unwrap();
        for case in golden["cases"].as_array().unwrap() {
            let text = |key: &str| case[key].as_str().unwrap().to_owned();
            let mut session =
                Session::strongest(std::iter::once(text("challenge").as_bytes())).unwrap();
            for answer in case["answers"].as_array().unwrap() {
                let found = session.answer_with(&REQUEST, answer["cnonce"].as_str().unwrap());
                assert_eq!(response(&found), answer["response"].as_str().unwrap());
                assert!(found.contains(answer["username"].as_str().unwrap()), "{found}");
            }
        }
    }
}
