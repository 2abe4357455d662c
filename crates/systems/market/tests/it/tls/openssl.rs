//! Another implementation: the client of OpenSSL, if it is installed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use super::{Secure, calm};

/// What the client prints, which sends this. A command and the word that it prints then may come first.
fn client(
    secure: &Secure,
    port: u16,
    more: &[&str],
    command: Option<(&str, &str)>,
    input: &str,
) -> String {
    let roots = Secure::files(secure.folder.path()).certificate;
    let mut client = Command::new("openssl")
        .args(["s_client", "-connect", &format!("127.0.0.1:{port}")])
        .args(["-servername", "localhost", "-verify_return_error"])
        .arg("-CAfile")
        .arg(roots)
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = client.stdin.take().unwrap();
    let mut printed = String::new();
    if let Some((letter, word)) = command {
        stdin.write_all(format!("{letter}\n").as_bytes()).unwrap();
        let mut lines = BufReader::new(client.stderr.as_mut().unwrap());
        while !printed.contains(word) {
            assert_ne!(lines.read_line(&mut printed).unwrap(), 0, "{printed}");
        }
        printed += &String::from_utf8_lossy(lines.buffer());
    }
    // It may have ended already.
    let _ = stdin.write_all(input.as_bytes());
    // At the end of its input it would leave before the answer.
    let output = client.wait_with_output().unwrap();
    drop(stdin);
    printed + &String::from_utf8_lossy(&[output.stdout, output.stderr].concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_of_openssl_is_served() {
    if Command::new("openssl").arg("version").output().is_err() {
        return;
    }
    let secure = Secure::new();
    let market = secure.start(calm()).await;
    let port = market.address.port();
    let run = |more: &[&str], command, input: &str| {
        tokio::task::block_in_place(|| client(&secure, port, more, command, input))
    };
    let openssl = |more: &[&str], input: &str| run(more, None, input);
    let request = "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    for version in ["-tls1_2", "-tls1_3"] {
        let answer = openssl(&[version, "-quiet", "-alpn", "h2,http/1.1"], request);
        assert!(answer.contains("HTTP/1.1 200 OK"), "{answer}");
        assert!(answer.contains("\r\n\r\nok\n"), "{answer}");
    }
    // Versions that are broken, and protocols that are not spoken.
    for more in [&["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"][..], &["-alpn", "h2"]] {
        let answer = openssl(more, request);
        assert!(!answer.contains("HTTP/1.1 200"), "{answer}");
    }
    // Another handshake within the connection ends it.
    let answer = run(&["-tls1_2"], Some(("R", "RENEGOTIATING")), request);
    assert!(!answer.contains("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("no renegotiation"), "{answer}");
    // New keys are made on request.
    let answer = run(&["-tls1_3"], Some(("K", "KEYUPDATE")), request);
    assert!(answer.contains("HTTP/1.1 200 OK"), "{answer}");
    let answer = openssl(&["-quiet"], request);
    assert!(answer.contains("HTTP/1.1 200 OK"), "{answer}");
}
