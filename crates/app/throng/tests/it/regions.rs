//! Users of regions: servers, record and arithmetic agree on who connects from where.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::{Arc, Mutex};

use record::Run;
use record::schema::{Summary, Verdict};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use testkit::needs::skip;

use crate::support::{Ended, Running, Space, plain, server, throng};

/// Percent of the circle up to each region's end.
const ENDS: [(&str, u64); 3] = [("ireland", 65), ("virginia", 85), ("sydney", 100)];

const SCENARIO: &str = "
name: world
target: http://ADDRESS/
regions: { ireland: 65, virginia: 20, sydney: 15 }
sessions:
  visitor:
    - { get: \"/u/${user}\", as: visit }
    - { get: /again, tags: { area: shop } }
arrivals:
  - { constant: 200/s, for: 1s }
  - { hold: 300ms }
thresholds:
  - p98(region=sydney) < 30s
  - p98(visit, region=ireland) < 30s
  - count(visit) == 200
  - count(area=shop, region=virginia) > 30
";

fn scenario(address: &str) -> String {
    SCENARIO.replace("ADDRESS", address)
}

/// The region of a user, as the documents say: by its place on a circle.
fn region_of(user: u64) -> &'static str {
    let place = user.wrapping_mul(0x9E37_79B1) % (1 << 32);
    let is_before = |end: u64| place < end * (1 << 32) / 100;
    let region = ENDS.iter().find(|(_, end)| is_before(*end));
    region.unwrap().0
}

fn users_of(region: &str) -> BTreeSet<u64> {
    (0..200).filter(|&user| region_of(user) == region).collect()
}

/// Users whose requests a server got.
type Seen = Arc<Mutex<BTreeSet<u64>>>;

fn answer(mut stream: TcpStream, seen: &Seen) -> io::Result<()> {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            io::Read::read_exact(&mut stream, &mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let user = head.strip_prefix("GET /u/");
        if let Some(user) = user.and_then(|rest| rest.split(' ').next()?.parse().ok()) {
            seen.lock().unwrap().insert(user);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
    }
}

/// Each row is of a user, a loop and a measure of one region.
fn rows_agree(run: &Run) {
    let info = run.info();
    let mut rows = 0;
    run.requests(|batch| {
        for row in batch {
            let region = region_of(row.user);
            let tags = &info.measures[usize::from(row.measure)].tags;
            assert_eq!(tags["region"], region, "{row:?}");
            let own = info.regions.iter().find(|own| own.name == region).unwrap();
            let loops = own.loops_first..own.loops_first + own.loops;
            assert!(loops.contains(&u32::from(row.loop_id)), "{row:?}");
            rows += 1;
        }
    })
    .unwrap();
    assert!(rows >= 400, "{rows}");
}

fn summary_agrees(summary: &Summary) {
    for (region, _) in ENDS {
        let users = users_of(region).len() as u64;
        let tag = summary.tags.iter().find(|tag| tag.value == region).unwrap();
        assert_eq!(tag.figures.count, 2 * users, "{region}");
        let of = summary.regions.iter().find(|of| of.name == region).unwrap();
        assert_eq!((of.users.started, of.users.finished), (users, users));
        let name = format!("visit (region={region})");
        let visit = summary.measures.iter().find(|m| m.name == name).unwrap();
        assert_eq!(visit.count, users);
    }
    let names: Vec<&str> = summary.totals.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["connect", "visit", "GET /again"]);
    assert_eq!(summary.totals[1].count, 200);
}

#[test]
fn regions_divide_users_rows_and_figures() {
    let seen = Seen::default();
    let address = {
        let seen = Arc::clone(&seen);
        server(move |stream| answer(stream, &seen))
    };
    for more in [&[][..], &["--workers", "2"], &["--set", "options.loops=7"]] {
        let space = Space::new();
        let text = scenario(&address.to_string());
        let ended = Ended::of(&mut space.run_text(&text, more)).with(0);
        let run = space.only();
        let summary = space.summary();
        assert_eq!(summary.verdict, Verdict::Passed);
        rows_agree(&run);
        summary_agrees(&summary);
        ended.stdout_contains("regions only divide users");
        ended.stdout_contains("region sydney 15 % of the users: ");
        let path = run.path().to_str().unwrap().to_owned();
        let export = Ended::of(&mut throng(["export", &path, "--markdown", "-"]));
        export.stdout_contains("| response by region |");
        export.stdout_contains("visit (region=virginia)");
    }
    assert_eq!(seen.lock().unwrap().len(), 200);
}

#[test]
fn namespaces_that_cannot_be_entered_are_named() {
    let space = Space::new();
    let text = scenario("127.0.0.1:1");
    let refused = |args: &[&str], code, message: &str| {
        let ended = Ended::of(&mut space.run_text(&text, args)).with(code);
        ended.stderr_contains(message);
    };
    refused(&["--netns", "mars=/x"], 64, "its regions are ireland,");
    refused(&["--netns", "sydney"], 64, "expected REGION=PATH");
    let missing = ["--netns", "sydney=/nonexistent"];
    refused(&missing, 71, "cannot open the network namespace /nonexistent");
    let workers = [&missing[..], &["--workers", "2"]].concat();
    refused(&workers, 64, "remove --workers");
}

/// A network namespace with its loopback up and a server on it.
struct Side {
    holder: Running,
    seen: Seen,
}

impl Side {
    /// `None` where the system does not let us.
    fn start(port: u16) -> Option<Side> {
        let mut command = plain(Command::new("unshare"));
        let script = "ip link set lo up && echo ready && exec sleep 600";
        let mut holder = Running::start(command.args(["-n", "sh", "-c", script]));
        holder.line_unless_ended()?;
        let file = std::fs::File::open(path_of(&holder)).unwrap();
        let listener = std::thread::spawn(move || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            // Nobody else is in this namespace.
            TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).unwrap()
        });
        let listener = listener.join().unwrap();
        let seen = Seen::default();
        let own = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&own);
                std::thread::spawn(move || answer(stream, &seen));
            }
        });
        Some(Side { holder, seen })
    }
}

fn path_of(holder: &Running) -> String {
    format!("/proc/{}/ns/net", holder.pid())
}

#[test]
fn users_connect_from_the_namespace_of_their_region() {
    const PORT: u16 = 8080;
    let (Some(ireland), Some(rest)) = (Side::start(PORT), Side::start(PORT)) else {
        skip("no network namespaces can be made here, so no user can connect from one");
        return;
    };
    let space = Space::new();
    let netns = |region: &str, side: &Side| format!("{region}={}", path_of(&side.holder));
    let one = netns("ireland", &ireland);
    let two = netns("virginia", &rest);
    let three = netns("sydney", &rest);
    let args = ["--netns", &one, "--netns", &two, "--netns", &three];
    let text = scenario(&format!("127.0.0.1:{PORT}"));
    let ended = Ended::of(&mut space.run_text(&text, &args)).with(0);
    assert!(!ended.out.contains("regions only divide users"), "{}", ended.out);
    assert_eq!(*ireland.seen.lock().unwrap(), users_of("ireland"));
    let others = &users_of("virginia") | &users_of("sydney");
    assert_eq!(*rest.seen.lock().unwrap(), others);
    let run = space.only();
    rows_agree(&run);
    summary_agrees(&space.summary());
    let regions = run.info().regions.iter();
    let files: Vec<&str> = regions.filter_map(|of| of.netns.as_deref()).collect();
    assert_eq!(files, [path_of(&ireland.holder), path_of(&rest.holder), path_of(&rest.holder)]);
}
