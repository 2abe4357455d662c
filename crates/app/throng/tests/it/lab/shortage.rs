//! Faults of disks, open files and clocks.

use super::{FILE, Lab, until};

/// What `sh` on the users' host says.
fn says(lab: &Lab, command: &str) -> String {
    lab.exec("crowd-near", command).out
}

#[test]
fn disks_fill_files_run_out_and_clocks_go_wrong_until_the_end() {
    let Some(lab) = Lab::new("short", "") else {
        return;
    };
    let file = FILE
        .replace("NAME", "short")
        .replace("memory: 64MiB", "memory: 64MiB, disk: 4MiB")
        .replace("throng serve hello --listen=${host}:80", "throng serve chat --listen=${host}:80")
        .replace("ready: /", "ready: /healthz");
    lab.space.file("lab.yaml", &file);
    lab.up();

    let folder = lab.space.path("labs/short/data/web@web-near");
    let write = format!(
        "head -c 100000 /dev/zero > {0}/file && echo written; rm -f {0}/file",
        folder.display()
    );
    assert_eq!(says(&lab, &write), "written\n");
    let begun = lab.does(&["fault", "fill_disk: web\nregion: near"]);
    assert!(begun.starts_with("fault 1;"), "{begun}");
    assert_eq!(says(&lab, &write), "");
    let again = super::Ended::of(&mut lab.command(&["fault", "fill_disk: web"]));
    let why = "the fault 1 does the same to an instance already";
    assert!(again.err.contains(why), "{}", again.err);
    // This one cannot be written to a full disk: it does not happen, and is not at work.
    let skew = "skew_clock: web\nregion: near\nby: -1h";
    let failed = super::Ended::of(&mut lab.command(&["fault", skew]));
    let why = "cannot let a fault befall web@web-near";
    assert!(failed.err.contains(why), "{} {}", failed.out, failed.err);
    let status = lab.does(&["status"]);
    assert!(!status.contains("fault 2"), "{status}");
    lab.does(&["repair", "1"]);
    assert_eq!(says(&lab, &write), "written\n");

    let get = "curl -s -o /dev/null -w %{http_code} -m 2 http://web-near.lab/healthz";
    assert_eq!(says(&lab, get), "200");
    lab.does(&["fault", "exhaust_files: web\nregion: near"]);
    until("connections are accepted", || says(&lab, get) == "000");
    lab.does(&["repair", "3"]);
    until("no connection is accepted", || says(&lab, get) == "200");

    lab.does(&["fault", "skew_clock: web\nby: -1h"]);
    until("the clock is right", || (-3_600_500.0..-3_500_000.0).contains(&ahead_ms(&lab)));
    // A full disk does not keep it wrong.
    lab.does(&["fault", "fill_disk: web"]);
    lab.does(&["repair", "4"]);
    until("the clock is wrong", || ahead_ms(&lab).abs() < 60_000.0);
    lab.does(&["repair", "5"]);
    let status = lab.does(&["status"]);
    assert!(!status.contains("fault"), "{status}");
}

/// By how much the server's clock is ahead of this one, as the stamp of a message says.
fn ahead_ms(lab: &Lab) -> f64 {
    let said = says(
        lab,
        "curl -s -d message=hi http://web-near.lab/chat/speak > /dev/null; \
         curl -s http://web-near.lab/chat/poll; echo; date +%s%3N",
    );
    let (message, now) = said.trim().rsplit_once('\n').unwrap();
    let stamp = message.rsplit("\"sent_at_ms\":").next().unwrap();
    let end = stamp.find(|c: char| !c.is_ascii_digit() && c != '.');
    let stamp: f64 = stamp[..end.unwrap()].parse().unwrap();
    stamp - now.parse::<f64>().unwrap()
}
