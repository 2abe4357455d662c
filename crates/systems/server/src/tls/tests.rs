//! Files, and sessions against the clients of the library, byte by byte.

use std::io::{Read, Write};
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion, version};
use tempfile::TempDir;

use super::*;

/// A certificate of its own in a folder of its own.
struct Own {
    folder: TempDir,
    files: TlsFiles,
    roots: RootCertStore,
}

fn own() -> Own {
    let made = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let CertifiedKey { cert, signing_key } = made;
    let folder = tempfile::tempdir().unwrap();
    let files = TlsFiles {
        certificate: folder.path().join("server.pem"),
        key: folder.path().join("server.key"),
    };
    std::fs::write(&files.certificate, cert.pem()).unwrap();
    std::fs::write(&files.key, signing_key.serialize_pem()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    Own { folder, files, roots }
}

fn client(roots: &RootCertStore, version: &'static SupportedProtocolVersion) -> ClientConnection {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots.clone())
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), ALPN.to_vec()];
    let name = ServerName::try_from("localhost").unwrap();
    ClientConnection::new(Arc::new(config), name).unwrap()
}

/// What the client sends.
fn from(client: &mut ClientConnection) -> Vec<u8> {
    let mut bytes = Vec::new();
    while client.wants_write() {
        client.write_tls(&mut bytes).unwrap();
    }
    bytes
}

fn to(client: &mut ClientConnection, mut bytes: &[u8]) -> Result<Vec<u8>, rustls::Error> {
    let mut plain = Vec::new();
    while !bytes.is_empty() {
        client.read_tls(&mut bytes).unwrap();
        let state = client.process_new_packets()?;
        let start = plain.len();
        plain.resize(start + state.plaintext_bytes_to_read(), 0);
        client.reader().read_exact(&mut plain[start..]).unwrap();
    }
    Ok(plain)
}

/// Brings bytes to the server in pieces; what they contain.
fn receive(
    server: &mut Session,
    bytes: &[u8],
    piece: usize,
    sealed: &mut Vec<u8>,
) -> Result<(Vec<u8>, PeerState), Failure> {
    let mut plain = Vec::new();
    let mut received = PeerState::More;
    for piece in bytes.chunks(piece) {
        received = server.receive(&mut piece.to_vec(), &mut plain, sealed)?;
    }
    Ok((plain, received))
}

/// Completes the handshake.
fn shake(client: &mut ClientConnection, server: &mut Session, piece: usize) {
    while client.is_handshaking() {
        let mut sealed = Vec::new();
        let hello = from(client);
        receive(server, &hello, piece, &mut sealed).unwrap();
        assert_eq!(to(client, &sealed).unwrap(), b"");
    }
    let rest = from(client);
    let mut tickets = Vec::new();
    receive(server, &rest, piece, &mut tickets).unwrap();
    to(client, &tickets).unwrap();
}

#[test]
fn unusable_files_are_named() {
    let other = own();
    let own = own();
    assert!(own.files.load().is_ok());
    let problem = |files: TlsFiles| files.load().unwrap_err().to_string();
    let file = |name: &str, content: &str| {
        let file = own.folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        file
    };
    let with_key = |key| TlsFiles { key, ..own.files.clone() };
    let with_certificate = |certificate| TlsFiles { certificate, ..own.files.clone() };
    let mixed = problem(with_key(other.files.key.clone()));
    assert!(mixed.contains("server.key does not belong to the certificate in"), "{mixed}");
    let missing = problem(with_key("/no/such/key".into()));
    assert_eq!(missing, "cannot read /no/such/key");
    let swapped = problem(with_certificate(own.files.key.clone()));
    assert!(swapped.ends_with("server.key: no certificate in it; expected PEM"), "{swapped}");
    let keyless = problem(with_key(own.files.certificate.clone()));
    assert!(keyless.contains("server.pem: no private key in it"), "{keyless}");
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let encrypted = problem(with_key(file("encrypted.key", encrypted)));
    assert!(encrypted.contains("encrypted.key: the key is encrypted"), "{encrypted}");
    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let garbage = problem(with_certificate(file("garbage.pem", garbage)));
    assert!(garbage.contains("garbage.pem: "), "{garbage}");
}

#[test]
fn content_goes_both_ways_in_pieces_of_any_size() {
    let own = own();
    let config = own.files.load().unwrap();
    for version in [&version::TLS13, &version::TLS12] {
        for piece in [1, 7, 4096, usize::MAX] {
            let mut client = client(&own.roots, version);
            let mut server = Session::new(&config).unwrap();
            shake(&mut client, &mut server, piece);
            assert_eq!(client.alpn_protocol(), Some(ALPN));
            assert_eq!(server.kept_bytes(), 0, "an idle one keeps no buffer");
            for length in [0, 1, 16_384, 16_385, 40_000] {
                let content: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
                // The client of the library keeps 64 KiB until they are sent.
                client.writer().write_all(&content).unwrap();
                let bytes = from(&mut client);
                let mut sealed = Vec::new();
                let (plain, received) = receive(&mut server, &bytes, piece, &mut sealed).unwrap();
                assert_eq!((plain == content, received), (true, PeerState::More));
                assert_eq!(sealed, b"");
                server.seal(&content, &mut sealed).unwrap();
                assert!(to(&mut client, &sealed).unwrap() == content);
            }
            let mut sealed = Vec::new();
            server.close(&mut sealed);
            server.close(&mut sealed);
            to(&mut client, &sealed).unwrap();
            assert_eq!(client.reader().read(&mut [0]).unwrap(), 0, "it ended properly");
            client.send_close_notify();
            let bytes = from(&mut client);
            let (_, received) = receive(&mut server, &bytes, piece, &mut sealed).unwrap();
            assert_eq!(received, PeerState::End);
        }
    }
}

#[test]
fn keys_are_renewed_on_request() {
    let own = own();
    let mut client = client(&own.roots, &version::TLS13);
    let mut server = Session::new(&own.files.load().unwrap()).unwrap();
    shake(&mut client, &mut server, usize::MAX);
    for _ in 0..3 {
        client.refresh_traffic_keys().unwrap();
        let bytes = from(&mut client);
        let mut sealed = Vec::new();
        receive(&mut server, &bytes, usize::MAX, &mut sealed).unwrap();
        server.seal(b"with new keys", &mut sealed).unwrap();
        assert_eq!(to(&mut client, &sealed).unwrap(), b"with new keys");
    }
}

#[test]
fn what_is_no_handshake_is_refused_with_an_alert() {
    let own = own();
    let config = own.files.load().unwrap();
    let refused = |bytes: &[u8]| {
        let mut server = Session::new(&config).unwrap();
        let mut sealed = Vec::new();
        let failure = receive(&mut server, bytes, usize::MAX, &mut sealed).unwrap_err();
        assert!(server.seal(b"x", &mut Vec::new()).is_err());
        (failure, sealed)
    };
    assert_eq!(refused(b"GET / HTTP/1.1\r\n\r\n"), (Failure::Plain, vec![]));
    // A record that is too long, one of no type, a message that is no ClientHello, content before the handshake.
    for bytes in [
        &[22, 3, 1, 0xff, 0xff, 1][..],
        &[99, 3, 1, 0, 1, 1],
        &[22, 3, 1, 0, 4, 2, 0, 0, 0],
        &[23, 3, 3, 0, 1, 1],
    ] {
        let (failure, sealed) = refused(bytes);
        assert!(matches!(failure, Failure::Tls(_)), "{failure}");
        // A fatal alert, in the clear.
        assert_eq!((sealed[0], sealed[5]), (21, 2), "{bytes:?}: {sealed:?}");
    }
    // A ClientHello that never ends.
    let mut endless = vec![];
    for _ in 0..3 {
        endless.extend([22, 3, 1, 0x3f, 0xff]);
        let start = endless.len();
        endless.resize(start + 0x3fff, 0);
        if start == 5 {
            endless[start..start + 4].copy_from_slice(&[1, 0, 0xff, 0xff]);
        }
    }
    assert_eq!(refused(&endless).0, Failure::TooLong);
}

/// The library remembers places in what is incomplete, and would panic if it were not there.
#[test]
fn half_a_message_does_not_disturb_what_is_sent() {
    let own = own();
    let config = own.files.load().unwrap();
    for version in [&version::TLS13, &version::TLS12] {
        let mut client = client(&own.roots, version);
        let hello = from(&mut client);
        // The ClientHello in two records, of which the second does not come.
        let half = (hello.len() - 5) / 2;
        let mut first = vec![22, 3, 1, 0, 0];
        first[3..5].copy_from_slice(&(half as u16).to_be_bytes());
        first.extend(&hello[5..5 + half]);
        let mut server = Session::new(&config).unwrap();
        let mut sealed = Vec::new();
        receive(&mut server, &first, usize::MAX, &mut sealed).unwrap();
        assert!(server.seal(b"too early", &mut sealed).is_err());
        server.close(&mut sealed);
        assert_eq!(sealed, b"");
        // And then it comes.
        let mut second = vec![22, 3, 1, 0, 0];
        second[3..5].copy_from_slice(&((hello.len() - 5 - half) as u16).to_be_bytes());
        second.extend(&hello[5 + half..]);
        receive(&mut server, &second, usize::MAX, &mut sealed).unwrap();
        to(&mut client, &sealed).unwrap();
        assert!(!from(&mut client).is_empty());
    }
    // The same with content.
    let mut client = client(&own.roots, &version::TLS13);
    let mut server = Session::new(&config).unwrap();
    shake(&mut client, &mut server, usize::MAX);
    client.writer().write_all(b"content").unwrap();
    let bytes = from(&mut client);
    let mut sealed = Vec::new();
    for at in 1..bytes.len() {
        assert_eq!(receive(&mut server, &bytes[at - 1..at], 1, &mut sealed).unwrap().0, b"");
        server.seal(b"in between", &mut sealed).unwrap();
    }
    assert_eq!(to(&mut client, &sealed).unwrap().len(), 10 * (bytes.len() - 1));
    let (plain, _) = receive(&mut server, &bytes[bytes.len() - 1..], 1, &mut Vec::new()).unwrap();
    assert_eq!(plain, b"content");
}

#[test]
fn a_record_that_was_changed_ends_the_connection() {
    let own = own();
    let mut client = client(&own.roots, &version::TLS13);
    let mut server = Session::new(&own.files.load().unwrap()).unwrap();
    shake(&mut client, &mut server, usize::MAX);
    client.writer().write_all(b"content").unwrap();
    let mut bytes = from(&mut client);
    *bytes.last_mut().unwrap() ^= 1;
    let mut sealed = Vec::new();
    let failure = receive(&mut server, &bytes, usize::MAX, &mut sealed).unwrap_err();
    assert_eq!(failure, Failure::Tls(rustls::Error::DecryptError));
    let alert = to(&mut client, &sealed).unwrap_err();
    assert!(matches!(alert, rustls::Error::AlertReceived(_)), "{alert}");
}

/// Certificate and roots for all cases of a property.
static OWN: LazyLock<(Arc<ServerConfig>, RootCertStore)> = LazyLock::new(|| {
    let own = own();
    (own.files.load().unwrap(), own.roots)
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever comes, in whichever pieces and whatever is sent in between: an error at most.
    #[test]
    fn changed_bytes_never_panic(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        split in any::<prop::sample::Index>(),
        flight in 0..3_usize,
        piece in 1..600_usize,
        is_new in any::<bool>(),
    ) {
        let version = if is_new { &version::TLS13 } else { &version::TLS12 };
        let mut client = client(&OWN.1, version);
        let mut server = Session::new(&OWN.0).unwrap();
        for round in 0..4 {
            if !client.is_handshaking() {
                client.writer().write_all(&[7; 300]).unwrap();
            }
            let mut bytes = from(&mut client);
            if round == flight && !bytes.is_empty() {
                for (place, value) in &changes {
                    let place = place.index(bytes.len());
                    bytes[place] = *value;
                }
                // A record in two, each with a header.
                let first = usize::from(u16::from_be_bytes([bytes[3], bytes[4]]));
                if bytes.len() >= 5 + first && first > 1 {
                    let at = 1 + split.index(first - 1);
                    let mut header = bytes[..5].to_vec();
                    header[3..5].copy_from_slice(&((first - at) as u16).to_be_bytes());
                    bytes[3..5].copy_from_slice(&(at as u16).to_be_bytes());
                    bytes.splice(5 + at..5 + at, header);
                }
            }
            let mut sealed = Vec::new();
            for part in bytes.chunks(piece) {
                if server.receive(&mut part.to_vec(), &mut Vec::new(), &mut sealed).is_err() {
                    prop_assert!(server.seal(b"x", &mut sealed).is_err());
                    server.close(&mut sealed);
                    return Ok(());
                }
                let _ = server.seal(b"in between", &mut sealed);
            }
            if to(&mut client, &sealed).is_err() {
                break;
            }
        }
        server.close(&mut Vec::new());
    }
}
