//! Examples of k6 as scenarios (`examples/k6`) against a site that counts for itself. Each does what its original does, as
//! the site saw it, and both sides count the same. They are shortened by their numbers alone.

mod hello;
mod scripts;
mod site;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use machine::clock::monotonic_ns;
use record::schema::{EventKind, MetricSummary, OnceOperation, RunStatus};
use record::{Outcome, Run};
use tungstenite::Message;

use crate::http2::{ok, outcomes};
use crate::needs::{Answer, Request, hmac_sha256, json, one_time_passwords};
use crate::support::{Ended, Space, pass, root, server, websocket};
use hello::Hello;
use site::{Seen, Site};

const S: u64 = 1_000_000_000;

/// A run of an example.
struct Played {
    space: Space,
    run: Run,
}

/// Runs an example against this target, with these settings; it ends with this exit code.
#[track_caller]
fn play(name: &str, target: &str, sets: &[&str], code: i32) -> Played {
    let space = Space::new();
    let mut command = space.run(&["--set", &format!("target={target}")]);
    command.arg(root().join("examples/k6").join(name));
    for set in sets {
        command.args(["--set", set]);
    }
    command.env("PASSWORD", "secret").env("SECRET", "a secret");
    command.env("TOTP_SECRET", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
    Ended::of(&mut command).with(code);
    let run = space.only();
    Played { space, run }
}

impl Played {
    /// How many answers had each status, those of steps that run once included.
    fn statuses(&self) -> BTreeMap<u16, u64> {
        let mut counts = BTreeMap::new();
        let add_all = |rows: &[record::Measurement]| {
            for row in rows.iter().filter(|row| row.status > 0) {
                assert_eq!(row.weight, 1, "all rows are kept");
                *counts.entry(row.status).or_default() += 1;
            }
        };
        self.run.requests(add_all).unwrap();
        for operation in self.once().iter().filter(|operation| operation.status > 0) {
            *counts.entry(operation.status).or_default() += 1;
        }
        counts
    }

    /// The operations of `setup` and `teardown`.
    fn once(&self) -> Vec<OnceOperation> {
        let events = self.run.events().unwrap().into_iter();
        let once = events.filter_map(|event| match event.what {
            EventKind::OnceEnded(once) => Some(once.operations),
            _ => None,
        });
        once.flatten().collect()
    }

    /// Operations of a measure that succeeded; all did.
    #[track_caller]
    fn count(&self, measure: &str) -> u64 {
        let ended = outcomes(&self.run, measure);
        let count = ended.get(&Outcome::Ok).copied().unwrap_or(0);
        assert_eq!(ended, ok(count), "{measure}");
        assert!(count > 0, "{measure}");
        count
    }

    fn metric(&self, name: &str) -> MetricSummary {
        let mut metrics = self.space.summary().metrics.into_iter();
        metrics.find(|metric| metric.name == name).unwrap()
    }

    /// The time at which a threshold has ended it.
    #[track_caller]
    fn aborted_ns(&self) -> u64 {
        assert_eq!(self.run.info().status, RunStatus::Aborted);
        assert!(self.run.is_complete(), "{:?}", self.run.missing());
        let events = self.run.events().unwrap();
        let aborted = events.iter().find(|event| matches!(event.what, EventKind::Aborted { .. }));
        aborted.unwrap().at_ns
    }
}

/// Both sides have the same number of answers with each status.
#[track_caller]
fn agree(played: &Played, site: &Site) {
    let ours = played.statuses();
    assert!(!ours.is_empty());
    assert_eq!(ours, site.statuses(), "ours, and the site's");
}

fn text(status: u16, body: &str) -> Answer {
    (status, String::new(), body.into())
}

fn html(body: &str) -> Answer {
    (200, "content-type: text/html; charset=utf-8\r\n".to_owned(), body.into())
}

#[test]
fn abort_ends_as_soon_as_answers_are_slow() {
    let site = Site::start(|_| {
        pass(Duration::from_millis(50));
        text(200, "slow")
    });
    let played = play("abort.yaml", &site.url, &[], 1);
    // The first look is after a second.
    assert_eq!(played.aborted_ns(), S);
    assert!(played.run.info().ended_ns <= 3 * S, "{}", played.run.info().ended_ns);
    agree(&played, &site);
    let connections: BTreeSet<u64> = site.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections.len(), 30);
}

/// More than sixty logins at a time are too many for it.
#[test]
fn average_load_grows_until_logins_fail() {
    let at_work = AtomicU64::new(0);
    let site = Site::start(move |request| {
        let place = at_work.fetch_add(1, Ordering::SeqCst);
        pass(Duration::from_millis(50));
        at_work.fetch_sub(1, Ordering::SeqCst);
        let is_right = request.text() == r#"{"username":"default","password":"secret"}"#
            && request.header("content-type") == "application/json";
        match (is_right, place < 60) {
            (false, _) => text(400, "no login"),
            (true, true) => json(200, r#"{"token": "t"}"#),
            (true, false) => text(503, "busy"),
        }
    });
    let sets =
        ["arrivals.0.for=1s", "arrivals.1.for=1s", "arrivals.2.for=12s", "thresholds.1=p99 < 30s"];
    let played = play("average-load.yaml", &site.url, &sets, 1);
    // Twenty users, and ten more each second from the third on: the sixty-first comes after six seconds, and soon one
    // login in a hundred has failed.
    let aborted_ns = played.aborted_ns();
    assert!((6 * S..=11 * S).contains(&aborted_ns), "{aborted_ns}");
    agree(&played, &site);
    assert_eq!(site.lines().into_keys().collect::<Vec<_>>(), ["POST /api/users/token/login"]);
    let statuses: Vec<u16> = site.statuses().into_keys().collect();
    assert_eq!(statuses, [200, 503]);
}

/// Neither request is answered before the other one is there.
#[test]
fn batch_sends_both_requests_at_the_same_time() {
    let both = Barrier::new(2);
    let site = Site::start(move |request| {
        both.wait();
        match request.path.as_str() {
            "/pi" => text(200, "3.14"),
            _ => html("front page"),
        }
    });
    let played = play("batch.yaml", &site.url, &["arrivals.0.for=1s"], 0);
    agree(&played, &site);
    let rounds = played.count("GET /");
    assert_eq!(played.count("GET /pi"), rounds);
    let lines = [("GET /".to_owned(), rounds), ("GET /pi".to_owned(), rounds)];
    assert_eq!(site.lines(), BTreeMap::from(lines));
}

#[test]
fn cookies_come_from_a_redirect_and_from_the_request() {
    let site = Site::start(|request| match request.method.as_str() {
        "POST" => {
            let headers = "set-cookie: name1=value1; Path=/\r\nset-cookie: name2=value2; Path=/\r\n\
                           location: /api/cookies\r\n";
            (302, headers.to_owned(), Vec::new())
        }
        _ => {
            let sent = request.header("cookie").split("; ");
            let pairs = sent.filter_map(|pair| pair.split_once('='));
            let cookies: BTreeMap<&str, &str> = pairs.collect();
            json(200, &serde_json::json!({ "cookies": cookies }).to_string())
        }
    });
    let played = play("cookies.yaml", &site.url, &["arrivals.0.for=1s"], 0);
    agree(&played, &site);
    let rounds = played.count("GET /api/cookies");
    assert_eq!(played.count("redirects"), rounds);
    // Whoever begins again has no cookies.
    for round in site.seen().chunks(3) {
        let lines: Vec<String> = round.iter().map(Seen::line).collect();
        let post = "POST /api/cookies?name1=value1&name2=value2";
        assert_eq!(lines, [post, "GET /api/cookies", "GET /api/cookies"]);
        let cookies = |seen: &Seen| {
            let sent = seen.request.header("cookie").split("; ").filter(|pair| !pair.is_empty());
            sent.map(str::to_owned).collect::<BTreeSet<_>>()
        };
        let set = ["name1=value1", "name2=value2"];
        let all = ["my_cookie=hello world", "name1=value1", "name2=value2"];
        let sent: Vec<_> = round.iter().map(cookies).collect();
        let wanted: [&[&str]; 3] = [&[], &set, &all];
        assert_eq!(
            sent,
            wanted.map(|pairs| pairs.iter().map(|&pair| pair.to_owned()).collect::<BTreeSet<_>>())
        );
    }
}

#[test]
fn crud_makes_one_user_and_one_rating_and_deletes_it() {
    let site = Site::start(|request| {
        let is_known = request.header("authorization") == "Bearer t-1";
        match (request.method.as_str(), request.path.as_str(), is_known) {
            ("POST", "/api/users", _) => json(201, "{}"),
            ("POST", "/api/users/token/login", _) => json(200, r#"{"token": "t-1"}"#),
            ("POST", "/api/ratings", true) => json(201, r#"{"id": 7, "stars": 2}"#),
            ("GET", "/api/ratings", true) => json(200, r#"{"ratings": [{"id": 7}]}"#),
            ("PUT", "/api/ratings/7", true) => json(200, &request.text()),
            ("DELETE", "/api/ratings/7", true) => text(204, ""),
            _ => text(403, ""),
        }
    });
    let played = play("crud.yaml", &site.url, &[], 0);
    agree(&played, &site);
    let seen = site.seen();
    let lines: Vec<String> =
        seen.iter().map(|seen| format!("{} {}", seen.line(), seen.status)).collect();
    assert_eq!(
        lines,
        [
            "POST /api/users 201",
            "POST /api/users/token/login 200",
            "POST /api/ratings 201",
            "GET /api/ratings 200",
            "PUT /api/ratings/7 200",
            "DELETE /api/ratings/7 204",
        ]
    );
    let body = |place: usize| -> serde_json::Value {
        serde_json::from_slice(&seen[place].request.body).unwrap()
    };
    let name = body(0)["username"].as_str().unwrap().to_owned();
    assert!(name.len() == 22 && name.ends_with("@example.com"), "{name}");
    assert_eq!(body(1), body(0));
    assert_eq!(body(0)["password"], "secret");
    assert_eq!(body(2), serde_json::json!({ "stars": 2, "pizza_id": 1 }));
    assert_eq!(body(4), serde_json::json!({ "stars": 5 }));
    for measure in ["create", "fetch", "update", "delete"] {
        assert_eq!(played.count(measure), 1);
    }
}

#[test]
fn custom_records_how_long_each_answer_took() {
    let site = Site::start(|_| {
        pass(Duration::from_millis(30));
        text(200, "ok")
    });
    let played = play("custom.yaml", &site.url, &["arrivals.0.for=1s"], 0);
    agree(&played, &site);
    let metric = played.metric("waiting_time");
    assert_eq!((metric.count, metric.unit.as_str()), (played.count("GET /"), "ms"));
    assert!(metric.min.unwrap() >= 30.0 && metric.max.unwrap() < 5_000.0, "{metric:?}");
}

#[test]
fn data_logs_users_of_a_file_in() {
    let site = Site::start(|request| {
        let is_form = request.header("content-type") == "application/x-www-form-urlencoded";
        match (is_form, request.field("login").as_str(), request.field("password").as_str()) {
            (true, "admin", "123") | (true, "test_user", "1234") => {
                html("<p>successfully authorized</p>")
            }
            _ => html("<p>not authorized</p>"),
        }
    });
    let sets = ["arrivals.0.for=1s", "sessions.visitor.2.think=10ms"];
    let played = play("data.yaml", &site.url, &sets, 0);
    agree(&played, &site);
    assert_eq!(played.count("POST /login"), site.seen().len() as u64);
    let users: BTreeSet<String> =
        site.seen().iter().map(|seen| seen.request.field("login")).collect();
    assert_eq!(users, BTreeSet::from(["admin".to_owned(), "test_user".to_owned()]));
}

#[test]
fn groups_are_requests_one_by_one_and_at_the_same_time() {
    let site = Site::start(|_| {
        pass(Duration::from_millis(30));
        json(200, "{}")
    });
    let sets = [
        "arrivals.0.for=1s",
        "sessions.visitor.2.think=10ms",
        "thresholds.0=mean(single) < 10s",
        "thresholds.1=mean(batch) < 10s",
    ];
    let played = play("groups.yaml", &site.url, &sets, 0);
    agree(&played, &site);
    let seen = site.seen();
    let rounds = played.count("single");
    assert_eq!((played.count("batch"), seen.len() as u64), (rounds, 6 * rounds));
    for round in seen.chunks(6) {
        let letters =
            |requests: &[Seen]| -> BTreeSet<String> { requests.iter().map(Seen::line).collect() };
        assert_eq!(letters(&round[..3]), letters(&round[3..]));
        assert_eq!(letters(round).len(), 3);
        assert!(round[..3].windows(2).all(|pair| !pair[0].is_beside(&pair[1])), "{round:?}");
        assert!(round[3..].windows(2).all(|pair| pair[0].is_beside(&pair[1])), "{round:?}");
    }
    let measures = played.space.summary().measures;
    let mean_ns = |name: &str| {
        let measure = measures.iter().find(|measure| measure.name == name).unwrap();
        measure.response.as_ref().unwrap().mean_ns
    };
    assert!(mean_ns("single") >= 90e6 && mean_ns("batch") < mean_ns("single"));
}

#[test]
fn grpc_greets() {
    let space = Space::new();
    let Some(hello) = Hello::start(&space) else {
        return;
    };
    let sets = ["arrivals.0.for=1s", "sessions.caller.1.think=20ms"];
    let played = play("grpc.yaml", &hello.url, &sets, 0);
    let greetings = hello.stop();
    assert!(
        greetings.iter().all(|line| line == "/hello.HelloService/SayHello Bert"),
        "{greetings:?}"
    );
    assert_eq!(played.count("hello.HelloService/SayHello"), greetings.len() as u64);
}

#[test]
fn quick_ramp_divides_users_as_its_weights_say() {
    let site = Site::start(|_| text(200, "ok"));
    let sets = [
        "arrivals.0={ ramp: 0/s..100/s, for: 1s }",
        "arrivals.1={ constant: 100/s, for: 1s }",
        "arrivals.2={ ramp: 100/s..0/s, for: 1s }",
    ];
    let played = play("quick-ramp.yaml", &site.url, &sets, 0);
    agree(&played, &site);
    let lines = site.lines();
    assert_eq!(lines.values().sum::<u64>(), 200);
    // Within four deviations of 40 and 30 %.
    for (line, expected) in
        [("GET /news", 80), ("GET /flip_coin?bet=heads", 60), ("GET /flip_coin?bet=tails", 60)]
    {
        assert!(lines[line].abs_diff(expected) <= 28, "{lines:?}");
    }
}

#[test]
fn sample_checks_values_json_and_a_page() {
    let site = Site::start(|request| match request.path.as_str() {
        "/get" => {
            let sent = request.header("x-test");
            json(200, &serde_json::json!({ "headers": { "X-Test": sent } }).to_string())
        }
        _ => html(
            "<p class=\"description\">Collection of simple web-pages suitable for load testing.</p>",
        ),
    });
    let sets =
        ["arrivals.0.for=2s", "sessions.visitor.2.think=0s..20ms", "thresholds.1=mean < 10s"];
    let played = play("sample.yaml", &site.url, &sets, 0);
    agree(&played, &site);
    let rounds = played.count("GET /get");
    assert_eq!(played.count("GET /"), rounds);
    assert!(rounds > 100, "{rounds}");
    assert_eq!(played.metric("my_counter").sum, Some(rounds as f64));
    let rate = played.metric("my_rate");
    assert_eq!(rate.count, rounds);
    let deviation = 0.5 / (rounds as f64).sqrt();
    assert!((rate.share.unwrap() - 0.5).abs() < 5.0 * deviation, "{rate:?}");
    let measures = played.space.summary().measures;
    let errors = |name: &str| {
        let measure = measures.iter().find(|measure| measure.name == name);
        measure.map_or(0, |measure| measure.errors)
    };
    assert_eq!((errors("always passes"), errors("always fails")), (0, rounds));
    // Two of three draws are too large.
    let share = errors("top-level test") as f64 / rounds as f64;
    assert!((share - 0.6667).abs() < 5.0 * deviation, "{share}");
}

#[test]
fn shared_iterations_use_each_row_once() {
    let site = Site::start(|_| text(200, "ok"));
    let played = play("shared-iterations.yaml", &site.url, &[], 0);
    agree(&played, &site);
    let lines = [("GET /users/admin".to_owned(), 1), ("GET /users/test_user".to_owned(), 1)];
    assert_eq!(site.lines(), BTreeMap::from(lines));
}

#[test]
fn tags_have_limits_of_their_own() {
    let play_with = |late: &'static str, code| {
        let site = Site::start(move |request| {
            if request.path == late {
                pass(Duration::from_millis(300));
            }
            text(200, "ok")
        });
        let sets = ["arrivals.0.for=1s", "sessions.visitor.3.think=20ms"];
        let played = play("tags.yaml", &site.url, &sets, code);
        agree(&played, &site);
        let rounds = site.lines()["GET /admin"];
        assert!(site.lines().values().all(|&count| count == rounds), "{:?}", site.lines());
        assert_eq!(site.lines().len(), 4);
        played.space.summary().thresholds
    };
    // 300 ms are too much for what is static, and not for the API.
    let passed =
        |late, code| play_with(late, code).iter().map(|one| one.passed).collect::<Vec<_>>();
    assert_eq!(passed("/favicon.ico", 1), [true, false]);
    assert_eq!(passed("/api/headers", 0), [true, true]);
}

#[test]
fn totp_is_a_password_of_this_half_minute() {
    let site = Site::start(|request| {
        let sent: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        let sent = sent["code"].as_str().unwrap_or_default().to_owned();
        match one_time_passwords().contains(&sent) {
            true => text(200, "ok"),
            false => text(403, "no"),
        }
    });
    let played = play("totp.yaml", &site.url, &[], 0);
    agree(&played, &site);
    assert_eq!((played.count("POST /mfa"), site.seen().len()), (1, 1));
}

#[test]
fn two_scenarios_are_a_hundred_visits_each_of_eighty_and_twenty_users() {
    let site = Site::start(|_| {
        pass(Duration::from_millis(200));
        text(200, "ok")
    });
    let played = play("two-scenarios.yaml", &site.url, &[], 0);
    agree(&played, &site);
    let lines = [("GET /contacts".to_owned(), 100), ("GET /news".to_owned(), 100)];
    assert_eq!(site.lines(), BTreeMap::from(lines));
    let seen = site.seen();
    let users = |path: &str| {
        let own = seen.iter().filter(|seen| seen.request.path == path);
        own.map(|seen| seen.connection).collect::<BTreeSet<_>>()
    };
    assert_eq!((users("/contacts").len(), users("/news").len()), (80, 20));
    assert!(users("/contacts").is_disjoint(&users("/news")));
    assert_eq!(played.space.summary().users.started, 100);
}

/// The content of the part of this name of a form with files, and the headers in front of it.
fn part_of(request: &Request, name: &str) -> (String, String) {
    let text = request.text();
    let (_, boundary) = request.header("content-type").split_once("boundary=").unwrap();
    let named = format!("name=\"{name}\"");
    let separator = format!("--{boundary}");
    let mut parts = text.split(&separator);
    let part = parts.find(|part| part.contains(&named)).unwrap();
    let (head, body) = part.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.trim_end_matches("\r\n").to_owned())
}

#[test]
fn upload_sends_a_file_a_form_and_a_signed_body() {
    let site = Site::start(|request| match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/admin") => html("<form><input type=hidden name=csrf value=c-1></form>"),
        _ => text(200, "ok"),
    });
    let sets = [
        "arrivals.0={ users: 1, iterations: 2, for: 10s }",
        "sessions.visitor.1.think=10ms",
        "sessions.visitor.4.think=10ms",
    ];
    let played = play("upload.yaml", &site.url, &sets, 0);
    agree(&played, &site);
    assert_eq!(site.seen().len(), 8);
    for round in site.seen().chunks(4) {
        let [upload, page, form, signed] = round else { panic!("{round:?}") };
        let (_, field) = part_of(&upload.request, "field");
        assert_eq!(field, "this is a standard form field");
        let (head, file) = part_of(&upload.request, "file");
        assert!(head.contains("filename=\"test.bin\""), "{head}");
        let people = std::fs::read_to_string(root().join("examples/k6/people.csv")).unwrap();
        assert_eq!(file.trim_end(), people.trim_end());
        assert_eq!(page.line(), "GET /admin");
        let field = |name| form.request.field(name);
        assert_eq!(
            [field("csrf"), field("username"), field("password")],
            ["c-1", "admin", "secret"]
        );
        let expected = hmac_sha256("a secret", "my data");
        assert_eq!(signed.request.header("x-signature"), expected);
        assert_eq!(signed.request.text(), "my data");
    }
}

/// What a user of a WebSocket said, with the time since its connection, and when it closed.
#[derive(Debug, Default, Clone)]
struct Talk {
    said: Vec<(u64, serde_json::Value)>,
    closed_ns: u64,
}

#[test]
fn websocket_talks_says_goodbye_and_closes() {
    let talks: Arc<Mutex<Vec<Talk>>> = Arc::default();
    let own = Arc::clone(&talks);
    let address = server(move |stream| {
        let mut socket = websocket(stream)?;
        let start_ns = monotonic_ns();
        let mut talk = Talk::default();
        while let Ok(message) = socket.read() {
            let at_ns = monotonic_ns() - start_ns;
            match message {
                Message::Text(text) => {
                    talk.said.push((at_ns, serde_json::from_str(text.as_str()).unwrap()));
                }
                Message::Close(_) => talk.closed_ns = at_ns,
                _ => {}
            }
        }
        own.lock().unwrap().push(talk);
        Ok(())
    });
    let played = play("websocket.yaml", &format!("http://{address}"), &[], 0);
    let talks = talks.lock().unwrap().clone();
    assert_eq!(talks.len(), 10);
    let users: BTreeSet<String> =
        talks.iter().map(|talk| talk.said[0].1["user"].to_string()).collect();
    assert_eq!(users, (1..=10).map(|user| format!("\"user_{user}\"")).collect());
    // A busy machine is late.
    let near = |found_ns: u64, wanted_ns: u64| found_ns.abs_diff(wanted_ns) < S / 2;
    for talk in &talks {
        let words = |what: &str| -> Vec<u64> {
            let said = talk
                .said
                .iter()
                .filter(|(_, said)| said["msg"].as_str().unwrap().starts_with(what));
            said.map(|(at_ns, _)| *at_ns).collect()
        };
        let hello = words("Hello!");
        let goodbye = words("Goodbye!");
        let saying = words("I'm saying ");
        assert_eq!((hello.len(), goodbye.len()), (1, 1), "{talk:?}");
        assert_eq!(talk.said.len(), 2 + saying.len(), "{talk:?}");
        assert!(near(hello[0], 0), "{talk:?}");
        assert!((3 * S - S / 2..=6 * S + S / 2).contains(&goodbye[0]), "{talk:?}");
        assert!(near(talk.closed_ns, goodbye[0] + 3 * S), "{talk:?}");
        // At one interval, from the beginning to the close.
        let every_ns = saying[0];
        assert!((S - S / 2..=2 * S + S / 2).contains(&every_ns), "{talk:?}");
        assert!((1..).zip(&saying).all(|(n, &at_ns)| near(at_ns, n * every_ns)), "{talk:?}");
        let last_ns = saying.len() as u64 * every_ns;
        assert!(
            last_ns < talk.closed_ns + S / 2 && last_ns + every_ns + S / 2 > talk.closed_ns,
            "{talk:?}"
        );
    }
    let said: u64 = talks.iter().map(|talk| talk.said.len() as u64).sum();
    let measures = played.space.summary().measures;
    let sent = measures.iter().filter(|measure| measure.kind == "request");
    assert_eq!(sent.map(|measure| measure.count).sum::<u64>(), said);
}
