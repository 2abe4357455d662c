//! Groups and tags: the server counts requests by area and group, and so does the record.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use record::Run;
use record::schema::{TagSummary, Verdict};
use serde_json::Value;

use crate::support::{Ended, Space, server, throng};

/// By path: requests that came, and those that were refused.
type Counts = Arc<Mutex<BTreeMap<String, (u64, u64)>>>;

/// Refuses every third payment, and every search.
fn shop(counts: &Counts) -> SocketAddr {
    let counts = Arc::clone(counts);
    server(move |stream| answer(stream, &counts))
}

fn answer(mut stream: TcpStream, counts: &Counts) -> io::Result<()> {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let refuses = {
            let mut counts = counts.lock().unwrap();
            let (came, refused) = counts.entry(path.clone()).or_default();
            *came += 1;
            let refuses = match path.as_str() {
                "/pay" => came.is_multiple_of(3),
                _ => path == "/search",
            };
            *refused += u64::from(refuses);
            refuses
        };
        let status = if refuses { "503 Busy" } else { "200 OK" };
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\nok")?;
    }
}

fn scenario(address: SocketAddr) -> String {
    format!(
        "
name: shop
target: http://{address}/
sessions:
  buyer:
    weight: 2
    tags: {{ who: buyer }}
    steps:
      - get: /
      - group: buy
        tags: {{ area: checkout }}
        steps:
          - get: /cart
          - group: pay
            steps: [ {{ get: /pay }} ]
  visitor:
    tags: {{ who: visitor }}
    steps:
      - get: /
      - {{ get: /search, tags: {{ area: catalogue }} }}
arrivals:
  - {{ constant: 60/s, for: 2s }}
  - {{ hold: 300ms }}
thresholds:
  - error_rate(group=buy) < 40%
  - errors(group=buy/pay) > 0
  - errors(area=catalogue) > 0
  - p95(area=checkout) < 30s
  - count(\"GET /\") == 120
"
    )
}

#[test]
fn the_record_and_the_server_count_the_same_by_tag() {
    let counts = Counts::default();
    let space = Space::new();
    let csv = space.path("csv");
    Ended::of(&mut space.run_text(&scenario(shop(&counts)), &["--quiet"])).with(0);
    let run = space.only();
    let summary = space.summary();
    assert_eq!(summary.verdict, Verdict::Passed);
    let counts = counts.lock().unwrap();
    let served = |paths: &[&str]| {
        let served = paths.iter().map(|path| counts[*path]);
        served.fold((0, 0), |sum, (came, refused)| (sum.0 + came, sum.1 + refused))
    };
    let found = |key: &str, value: &str| {
        let is_it = |tag: &&TagSummary| tag.key == key && tag.value == value;
        let tag = summary.tags.iter().find(is_it).unwrap();
        let times = tag.figures.response.as_ref().unwrap();
        assert_eq!(times.count, tag.figures.count, "each answer took some time");
        (tag.figures.count, tag.figures.errors)
    };
    assert_eq!(found("group", "buy"), served(&["/cart", "/pay"]));
    assert_eq!(found("group", "buy/pay"), served(&["/pay"]));
    assert_eq!(found("area", "checkout"), served(&["/cart", "/pay"]));
    assert_eq!(found("area", "catalogue"), served(&["/search"]));
    let all = served(&["/", "/cart", "/pay", "/search"]);
    let buyer = found("who", "buyer");
    let visitor = found("who", "visitor");
    assert_eq!((buyer.0 + visitor.0, buyer.1 + visitor.1), all);
    assert_eq!(served(&["/"]).0, 120);

    // A group fails with its payment, and counts once.
    let refused = served(&["/pay"]).1;
    assert!(refused > 0);
    for (name, count) in [("buy", served(&["/cart"]).0), ("buy/pay", served(&["/pay"]).0)] {
        let group = summary.measures.iter().find(|m| m.name == name).unwrap();
        assert_eq!((group.count, group.errors), (count, refused), "{name}");
        assert_eq!(group.errors_by_kind["status"], refused, "{name}");
    }
    shown(&run, &csv);
}

/// What is printed of it, and exported.
fn shown(run: &Run, csv: &std::path::Path) {
    let path = run.path().to_str().unwrap();
    let show = Ended::of(&mut throng(["show", "--full", path]));
    for row in ["by tag", "  group=buy/pay ", "  who=visitor ", "GET / (who=buyer)"] {
        assert!(show.out.contains(row), "{row}: {}", show.out);
    }
    let json = Ended::of(&mut throng(["show", path, "--json"])).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["tags"][0]["figures"]["name"], "group=buy");
    let mut export = throng(["export", path, "--markdown", "-", "--csv"]);
    let export = Ended::of(export.arg(csv)).with(0);
    export.stdout_contains("| requests by tag |");
    let measures = std::fs::read_to_string(csv.join("measures.csv")).unwrap();
    let has = |text: &str| measures.lines().any(|line| line.contains(text));
    assert!(has(",area=checkout,tag,"), "{measures}");
    assert!(has("\"area=checkout, group=buy, who=buyer\""), "{measures}");
    let tags = &run.info().measures.iter().find(|m| m.name == "GET /pay").unwrap().tags;
    assert_eq!(tags["group"], "buy/pay");
}
