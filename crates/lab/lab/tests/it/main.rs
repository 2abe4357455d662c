//! Wrong labs and what is said of them, as files: `testdata/labs/bad/*.yaml` and beside each its `.expected`, which
//! `UPDATE=1` rewrites. And whatever is written, reading a lab ends.

use std::path::{Path, PathBuf};

use proptest::prelude::{ProptestConfig, any, prop, proptest};
use scenario::document::{Source, render};

const GOOD: &str = "
lab: good
network: { table: aws-2015, losses: by-delay }
regions: [ireland, sydney]
links: [ { from: ireland, to: sydney, delay: 100ms, jitter: 1ms, rate: 10Mbit/s, queue: 64KiB } ]
inside: { round_trip: 1ms }
hosts:
  store: { region: ireland, cpus: 1, memory: 1GiB, price: m3.large }
  api: { each: all, count: 2, cpus: 0.5, billing: 1h }
services:
  db: { on: store, package: postgres, options: [work_mem=1MB] }
  api: { on: api, run: \"throng serve hello --listen=${host}:80\", port: 80, ready: /, environment: { DB: \"${db.url}\" } }
scaling:
  api:
    minimum: 1
    desired: 1
    maximum: 2
    start_up: 30s
    alarms:
      - { metric: cpu, above: 70%, periods: 2, delay: 120s, add: 1 }
      - { prometheus: requests_total, statistic: sum, below: 3, missing: breach, remove: 1, cool_down: 10s }
      - { metric: arrivals, above: 40/s, set: 2 }
prices: prices.yaml
names: { www: { of: api, policy: failover, order: [sydney, ireland], ttl: 5s } }
scenario: x.yaml
set: { target: \"http://${api.address}/\" }
faults: [ { at: 5s, for: 1s, degrade: ireland, loss: 5% }, { at: 6s, freeze: api, region: sydney } ]
";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/labs/bad")
}

#[test]
fn wrong_labs_are_reported_as_expected() {
    let files = std::fs::read_dir(folder()).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "yaml");
    let mut files: Vec<PathBuf> = files.filter(is_yaml).collect();
    files.sort();
    assert!(files.len() >= 8);
    let mut different = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let source = Source { name, text: &text };
        let (file, diagnostics) = lab::lab(source);
        assert!(file.is_none(), "{name} is a lab");
        let found = render(&diagnostics, source);
        let golden = path.with_extension("expected");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&golden, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if found != expected {
            different.push(format!("{name}\n--- expected\n{expected}\n--- found\n{found}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}

#[test]
fn a_lab_is_read() {
    let (file, diagnostics) = lab::lab(Source { name: "good", text: GOOD });
    assert_eq!(diagnostics, []);
    let file = file.unwrap();
    let names: Vec<&str> = file.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["store", "api-ireland-1", "api-ireland-2", "api-sydney-1", "api-sydney-2"]);
    assert_eq!(file.hosts[1].billing_ns, 3_600_000_000_000);
    let [ireland, sydney] = &file.scaling[..] else {
        panic!("one group in each region: {:?}", file.scaling);
    };
    assert_eq!((ireland.region, &ireland.hosts[..]), (Some(0), &[1, 2][..]));
    assert_eq!((sydney.region, &sydney.hosts[..]), (Some(1), &[3, 4][..]));
    assert_eq!(ireland.rules, sydney.rules);
    let alarms = &ireland.rules.alarms;
    assert_eq!((alarms[0].limit, alarms[1].limit, alarms[2].limit), (0.7, 3.0, 40.0));
    // A run may have its own rules.
    let own = "api: { minimum: 0, desired: 2, maximum: 2 }";
    let own = lab::file::scaling(own, &file).unwrap();
    assert_eq!(own.len(), 2);
    assert_eq!((own[1].rules.desired, own[1].rules.alarms.len()), (2, 0));
    let wrong = lab::file::scaling("api: { minimum: 0, desired: 3, maximum: 3 }", &file);
    assert_eq!(wrong.unwrap_err()[0].code, "bad-scaling");
    // Ireland to Sydney by its own numbers, back by the table.
    let [there, back] = [file.links[1], file.links[2]];
    assert_eq!((there.delay_ns, back.delay_ns), (100_000_000, 157_000_000));
    assert_eq!(there.loss.mean(), 0.0);
    assert!((back.loss.mean() - 0.014).abs() < 1e-12);
    assert_eq!(file.links[0].delay_ns, 500_000);
    let faults: Vec<String> = file.faults.iter().map(|f| lab::describe(&f.fault, &file)).collect();
    assert_eq!(
        faults,
        ["degraded: ireland to sydney, 5.00 % lost", "frozen: api on api-sydney-1, api-sydney-2"]
    );
}

#[test]
fn hosts_have_settings_of_their_network_only() {
    let read = |settings: &str| {
        let text = format!(
            "lab: t\nregions: [near]\nhosts: {{ web: {{ region: near, settings: {{ {settings} }} }} }}\n"
        );
        let (file, diagnostics) = lab::lab(Source { name: "t", text: &text });
        file.map(|file| file.hosts[0].settings.clone()).ok_or_else(|| diagnostics[0].code)
    };
    let found = read("net.core.somaxconn: 128, net.ipv4.tcp_rmem: 8192 873700 8388608");
    let expected = [("net.core.somaxconn", "128"), ("net.ipv4.tcp_rmem", "8192 873700 8388608")];
    assert_eq!(
        found,
        Ok(expected.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
    );
    for setting in
        ["vm.overcommit_memory: 1", "net.../../vm/overcommit_memory: 1", "fs.file-max: 1"]
    {
        assert_eq!(read(setting), Err("bad-setting"), "{setting}");
    }
}

#[test]
fn a_lab_makes_a_certificate_where_one_is_named() {
    let read = |further: &str| {
        let text =
            format!("lab: t\nregions: [near]\nhosts: {{ web: {{ region: near }} }}\n{further}");
        let (file, diagnostics) = lab::lab(Source { name: "t", text: &text });
        file.unwrap_or_else(|| panic!("{diagnostics:?}")).needs_certificate()
    };
    assert!(!read("services: { front: { on: web, run: \"serve ${host} ${lab}\" } }\n"));
    assert!(read("services: { front: { on: web, run: \"serve ${key}\" } }\n"));
    assert!(read(
        "services: { front: { on: web, package: nginx, files: { nginx.conf: \"${certificate}\" } } }\n"
    ));
    assert!(read("scenario: x.yaml\nset: { options.tls.ca: \"${authority}\" }\n"));
}

#[test]
fn a_fault_of_an_unknown_region_says_so() {
    let text =
        "lab: t\nnetwork: aws-2015\nregions: [ireland, sydney]\nhosts: { box: { each: all } }\n";
    let (file, _) = lab::lab(Source { name: "t", text });
    let file = file.unwrap();
    for (fault, said) in [
        ("partition: mars", "there is no region `mars`"),
        ("degrade: [ireland, mars]", "there is no region `mars`"),
        ("partition: [ireland]", "a fault of links needs two sides"),
    ] {
        let diagnostics = lab::file::fault(fault, &file).unwrap_err();
        let messages: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert!(messages.contains(&said), "{fault}: {messages:?}");
        assert_eq!(messages[0], said, "{messages:?}");
    }
}

#[test]
fn a_replica_may_follow_a_replica_and_variables_may_differ_by_region() {
    let text = "
lab: chain
network: aws-2015
regions: [ireland, singapore, sydney]
hosts:
  store: { region: ireland }
  near: { region: singapore }
  far: { region: singapore }
  api: { each: all }
services:
  db: { on: store, package: mariadb }
  copy: { on: near, package: mariadb, replica_of: db }
  copy-of-copy: { on: far, package: mariadb, replica_of: copy }
  api:
    on: api
    run: throng serve hello
    environment: { READ: { ireland: \"${db.url}\", sydney: \"${copy-of-copy.url}\", default: \"${copy.url}\" } }
";
    let (file, diagnostics) = lab::lab(Source { name: "chain", text });
    assert_eq!(diagnostics, []);
    let file = file.unwrap();
    let lab::file::Program::Package { replica_of, .. } = &file.services[2].program else {
        panic!("{:?}", file.services[2].program);
    };
    assert_eq!(*replica_of, Some(1));
    let read = &file.services[3].environment[0];
    let named = |region| read.value_in(region).services().collect::<Vec<_>>();
    assert_eq!([named(0), named(1), named(2)], [[0], [1], [2]]);
    // Others would have no value.
    let without = text.replace(", default: \"${copy.url}\"", "");
    let (file, diagnostics) = lab::lab(Source { name: "chain", text: &without });
    assert!(file.is_none());
    assert_eq!(diagnostics[0].code, "missing-key");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_is_read_to_its_end(text in any::<String>()) {
        lab::lab(Source { name: "any", text: &text });
    }

    /// One line of a lab is missing, there twice, or has something else at its end.
    #[test]
    fn a_lab_with_a_changed_line_is_read_to_its_end(
        line in prop::sample::select((1..GOOD.lines().count()).collect::<Vec<_>>()),
        change in 0..3,
        end in "[-a-z0-9:{}\\[\\]$%., ]{0,12}",
    ) {
        let mut text = String::new();
        for (number, old) in GOOD.lines().enumerate() {
            let times = usize::from(number != line || change != 0) + usize::from(number == line && change == 1);
            for _ in 0..times {
                text += old;
                if number == line && change == 2 {
                    text += &end;
                }
                text += "\n";
            }
        }
        lab::lab(Source { name: "changed", text: &text });
    }
}
mod wan;
