use super::*;
use crate::parse_time;

const REPORT: &str = include_str!("../../../../../../testdata/import/report-sound.txt");

/// A run's directory: one client, and these sources (role, source, first minute of three).
fn run(root: &Path, name: &str, sources: &[(&str, &str, &str)]) -> PathBuf {
    let run = root.join(name);
    let client = run.join("clients/eu/10.0.0.1");
    fs::create_dir_all(&client).unwrap();
    fs::write(client.join("1"), REPORT).unwrap();
    for (role, source, first) in sources {
        let source = run.join(role).join("eu").join(source);
        fs::create_dir_all(&source).unwrap();
        let rows: String =
            (0..3).map(|minute| format!("2015-08-05 {first}{minute}:00,1,Percent\n")).collect();
        let text = format!("Timestamp,Average,Unit\n{rows}");
        fs::write(source.join("CPUUtilization.csv"), text).unwrap();
    }
    run
}

/// When the run of these sources starts, and what is not known of it.
fn started(sources: &[(&str, &str, &str)], known: Option<&str>) -> (u64, Vec<String>) {
    let root = tempfile::tempdir().unwrap();
    let settings = Settings {
        started_unix_ns: known.map(|time| parse_time(time).unwrap()),
        version: String::new(),
    };
    let read = read(&run(root.path(), "run", sources), &settings).unwrap();
    (read.info.started_unix_ns, read.import.absent)
}

#[test]
fn an_unknown_start_is_that_of_the_servers() {
    let sources =
        [("mysql", "replica", "10:0"), ("servers", "a", "11:1"), ("servers", "b", "11:0")];
    let at = |time| parse_time(time).unwrap();
    let (start, absent) = started(&sources, None);
    assert_eq!(start, at("2015-08-05T11:00"));
    let words = "time starts at the first minute that a server reported";
    assert!(absent.iter().any(|line| line.ends_with(words)), "{absent:?}");

    let (start, absent) = started(&sources, Some("2015-08-05T11:09"));
    assert_eq!(start, at("2015-08-05T11:09"));
    assert!(!absent.iter().any(|line| line.contains("time starts")));

    let (start, absent) = started(&sources[..1], None);
    assert_eq!(start, at("2015-08-05T10:00"));
    let words = "first minute that a source of `mysql` reported";
    assert!(absent.iter().any(|line| line.ends_with(words)), "{absent:?}");
}

#[test]
fn what_is_no_run_is_reported() {
    let root = tempfile::tempdir().unwrap();
    let a = run(root.path(), "a", &[]);
    let b = run(root.path(), "b", &[]);
    let plots = root.path().join("plots");
    fs::create_dir(&plots).unwrap();
    let readme = root.path().join("README.md");
    fs::write(&readme, "text").unwrap();
    fs::write(root.path().join(".hidden"), "").unwrap();
    let detected = detect(root.path()).unwrap();
    assert_eq!(detected.runs, [a.clone(), b]);
    assert_eq!(detected.skipped, [readme, plots.clone()]);
    let one = detect(&a).unwrap();
    assert_eq!((one.runs, one.skipped), (vec![a], Vec::new()));
    assert!(matches!(detect(&plots), Err(ImportError::Unknown { .. })));
}
