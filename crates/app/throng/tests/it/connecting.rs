//! Proxies and Unix sockets from the command line, with real sockets.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use record::Outcome;

use crate::http2::{certificate, ok, outcomes};
use crate::support::{Ended, Served, Space, holding, read_head, server, throng};

/// As base64 of `ann:hush-4711-hush`.
const SECRET: &str = "hush-4711-hush";
const BASIC: &str = "proxy-authorization: Basic YW5uOmh1c2gtNDcxMS1odXNo";

/// Passes bytes on until both sides have closed.
fn pass_on(client: TcpStream, target: TcpStream) -> io::Result<()> {
    let mut from = client.try_clone()?;
    let mut to = target.try_clone()?;
    let back = std::thread::spawn(move || io::copy(&mut { target }, &mut { client }));
    io::copy(&mut from, &mut to)?;
    to.shutdown(std::net::Shutdown::Write)?;
    let _ = back.join();
    Ok(())
}

/// A proxy of HTTP that resolves every name to this machine, and lets nobody but ann in. It counts tunnels.
fn http_proxy(tunnels: &Arc<AtomicU64>) -> SocketAddr {
    let tunnels = Arc::clone(tunnels);
    server(move |mut client| {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            client.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let port = head.split(' ').nth(1).and_then(|to| to.rsplit(':').next());
        let port: u16 = port.and_then(|port| port.parse().ok()).unwrap_or(0);
        if !head.starts_with("CONNECT ") || !head.contains(BASIC) {
            let answer = b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
            return client.write_all(answer);
        }
        let target = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        tunnels.fetch_add(1, Ordering::Relaxed);
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        pass_on(client, target)
    })
}

/// The same of SOCKS5.
fn socks_proxy(tunnels: &Arc<AtomicU64>) -> SocketAddr {
    let tunnels = Arc::clone(tunnels);
    server(move |mut client| {
        let mut greeting = [0; 4];
        client.read_exact(&mut greeting)?;
        assert_eq!(greeting, [5, 2, 0, 2]);
        client.write_all(&[5, 2])?;
        let mut password = vec![0; 3 + 3 + SECRET.len()];
        client.read_exact(&mut password)?;
        let expected = [b"\x01\x03ann\x0e", SECRET.as_bytes()].concat();
        client.write_all(&[1, u8::from(password != expected)])?;
        let mut head = [0; 4];
        client.read_exact(&mut head)?;
        let mut len = [4];
        if head[3] == 3 {
            client.read_exact(&mut len)?;
        }
        let mut rest = vec![0; usize::from(len[0]) + 2];
        client.read_exact(&mut rest)?;
        let port = u16::from_be_bytes([rest[rest.len() - 2], rest[rest.len() - 1]]);
        let target = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        tunnels.fetch_add(1, Ordering::Relaxed);
        client.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80])?;
        pass_on(client, target)
    })
}

fn scenario(url: &str, options: &str) -> String {
    format!(
        "target: \"{url}\"\noptions: {{ timeout: 10s, tls: {{ verify: false }}, {options} }}\n\
         sessions:\n  user:\n    - loop: 3\n      steps: [ {{ get: /hello, as: page }} ]\n\
         arrivals: [ {{ constant: 20/s, for: 1s }}, {{ hold: 300ms }} ]\n\
         thresholds: [ errors == 0 ]\n"
    )
}

/// Each kind of proxy, with and without TLS inside, over both versions of HTTP. The name is known to the proxy only.
#[test]
fn load_goes_through_proxies() {
    let folder = Space::new();
    let (cert, key) = certificate(&folder);
    let plain = Served::start(&["hello"]);
    let secure = Served::start(&["hello", "--tls-cert", &cert, "--tls-key", &key]);
    let tunnels = Arc::<AtomicU64>::default();
    let proxies = [
        ("http", http_proxy(&tunnels)),
        ("socks5h", socks_proxy(&tunnels)),
        ("socks5", socks_proxy(&tunnels)),
    ];
    let mut before = 0;
    for (scheme, proxy) in proxies {
        for (served, http) in [(&plain, "1.1"), (&plain, "2"), (&secure, "auto")] {
            let space = Space::new();
            // Who resolves the name here has to know it.
            let name = if scheme == "socks5" { "localhost" } else { "shop.invalid" };
            let url = served.url.replace("127.0.0.1", name);
            let options = format!(
                "http: {http}, proxy: \"{scheme}://ann:${{env('PW')}}@{proxy}\", no_proxy: [ other.test ]"
            );
            let mut run = space.run_text(&scenario(&url, &options), &[]);
            let ended = Ended::of(run.env("PW", SECRET)).with(0);
            ended.stdout_contains(&format!(" through {scheme}://{proxy}"));
            let record = space.only();
            assert_eq!(outcomes(&record, "page"), ok(60), "{scheme} {url}");
            let after = tunnels.load(Ordering::Relaxed);
            assert_eq!(outcomes(&record, "connect"), ok(after - before));
            before = after;
            assert_eq!(holding(&space.path(""), SECRET), [] as [String; 0]);
        }
    }
    plain.stop();
    secure.stop();
}

#[test]
fn a_password_in_the_scenario_is_not_recorded() {
    let hello = Served::start(&["hello"]);
    let tunnels = Arc::<AtomicU64>::default();
    let proxy = http_proxy(&tunnels);
    for workers in ["0", "2"] {
        let space = Space::new();
        let options = format!("proxy: \"http://ann:{SECRET}@{proxy}\"");
        let text = scenario(&hello.url, &options);
        Ended::of(&mut space.run_text(&text, &["--workers", workers])).with(0);
        let run = space.only();
        assert_eq!(outcomes(&run, "page"), ok(60));
        let text = run.scenario().unwrap().unwrap();
        assert!(text.contains("http://ann:***@"), "{text}");
        assert!(run.info().target.contains(" through http://"));
        let held = holding(run.path(), SECRET);
        assert_eq!(held, [] as [String; 0]);
    }
    hello.stop();
}

#[test]
fn a_refusal_is_an_error_of_its_own_kind() {
    let tunnels = Arc::<AtomicU64>::default();
    let proxy = http_proxy(&tunnels);
    let space = Space::new();
    let options = format!("proxy: \"http://ann:wrong@{proxy}\"");
    let text = scenario("http://shop.invalid/", &options);
    let ended = Ended::of(&mut space.run_text(&text, &[]));
    ended.stdout_contains("it answered 407");
    let run = space.only();
    let refused = outcomes(&run, "connect");
    assert_eq!(refused.keys().copied().collect::<Vec<_>>(), [Outcome::ProxyRefused]);
    assert_eq!(tunnels.load(Ordering::Relaxed), 0);
}

/// The variables count only where the scenario says so.
#[test]
fn proxies_of_the_environment_are_used_on_request() {
    let hello = Served::start(&["hello"]);
    let tunnels = Arc::<AtomicU64>::default();
    let proxy = http_proxy(&tunnels);
    for (options, count) in [("", 0), ("proxy: environment", 20)] {
        let space = Space::new();
        let mut run = space.run_text(&scenario(&hello.url, options), &[]);
        run.env("http_proxy", format!("http://ann:{SECRET}@{proxy}/"));
        run.env("no_proxy", "other.test");
        Ended::of(&mut run).with(0);
        assert_eq!(tunnels.load(Ordering::Relaxed), count, "{options}");
        assert_eq!(holding(&space.path(""), SECRET), [] as [String; 0]);
    }
    hello.stop();
}

#[test]
fn a_server_at_a_unix_socket_is_loaded() {
    let space = Space::new();
    let listener = UnixListener::bind(space.path("app.sock")).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || -> io::Result<()> {
                loop {
                    read_head(&mut stream)?;
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
                }
            });
        }
    });
    let path = space.path("app.sock").display().to_string();
    let text = scenario(&format!("unix:{path}"), "");
    Ended::of(&mut space.run_text(&text, &[])).with(0);
    assert_eq!(outcomes(&space.only(), "page"), ok(60));
    // Relative to the scenario, also for workers.
    let file = space.file("near.yaml", &scenario("unix:app.sock", ""));
    let name = file.display().to_string();
    let mut shown = throng(["try", &name]);
    Ended::of(&mut shown).with(0).stdout_contains("app.sock").stdout_contains("host: localhost");
}

#[test]
fn a_missing_unix_socket_is_named() {
    let space = Space::new();
    let path = space.path("none.sock").display().to_string();
    let text = scenario(&format!("unix:{path}"), "");
    Ended::of(&mut space.run_text(&text, &[])).with(1).stdout_contains("there is no such file");
}
