//! Two commits of a repository, served and run in pairs: the second one is slower.

use std::net::TcpListener;
use std::process::Command;

use testkit::needs::skip;

use super::{Build, Event, Repository, github, gitlab};
use crate::support::Ended;

/// What serves a commit: as slow as a file of it says.
const SERVE: &str =
    "exec throng serve stall --listen 127.0.0.1:$PORT --delay $(cat delay) --stall 1ms --every 1h";
/// Pairs of a second: each of its runs has 40 requests.
const DUET_ARGS: &str = "--interleave ab --self-pairs 0 --pause 0s --set arrivals.0.for=400ms";

/// Two ports that are free now.
fn ports() -> String {
    let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|one| one.local_addr().unwrap().port().to_string()).join(" ")
}

/// A clone with two commits; the second one is checked out, and takes 60 ms longer.
struct Commits {
    repository: Repository,
    first: String,
    second: String,
}

impl Commits {
    fn new() -> Commits {
        let repository = Repository::new();
        let work = repository.space.path("work");
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
            let output = command.args(args).current_dir(&work).output().unwrap();
            assert!(output.status.success(), "{args:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        git(&["init", "--quiet"]);
        repository.space.file("work/.gitignore", ".throng\n");
        let commit = |delay: &str| {
            repository.space.file("work/delay", delay);
            git(&["add", "."]);
            git(&["commit", "--quiet", "--message", &format!("Take {delay}")]);
            git(&["rev-parse", "HEAD"])
        };
        let [first, second] = [commit("5ms"), commit("65ms")];
        Commits { repository, first, second }
    }

    /// The build of a request whose commit is the second one, and whose base is this one.
    fn build(&self, base: &str) -> Build<'_> {
        Build {
            repository: &self.repository,
            event: Event::Request,
            number: 1,
            run_args: String::new(),
            base: base.to_owned(),
            inputs: vec![
                ("serve", SERVE.to_owned()),
                ("build", "test -f delay".to_owned()),
                ("duet-args", DUET_ARGS.to_owned()),
                ("ports", ports()),
                ("budget", "3".to_owned()),
            ],
        }
    }
}

/// What a comment on two commits needs is here.
fn has_programs() -> bool {
    let is_here = |program: &&str| Command::new(program).arg("--version").output().is_ok();
    ["python3", "git"].iter().all(is_here)
}

/// A slower commit and an equal one.
#[track_caller]
fn two_requests(run: impl Fn(&Build<'_>) -> Ended) {
    if !has_programs() {
        return skip("a comment on two commits needs python3 and git");
    }
    let commits = Commits::new();
    run(&commits.build(&commits.first)).with(1);
    let posted = commits.repository.forge.comments();
    let [comment] = &posted[..] else {
        panic!("there is no comment");
    };
    assert!(comment.starts_with("<!-- throng: load-test.yaml -->\n"), "{comment}");
    assert!(comment.contains("## ❌ slower\n\nhome is slower by "), "{comment}");
    assert!(comment.contains("| home | "), "{comment}");
    assert!(comment.contains(&format!("against {}", &commits.first[..7])), "{comment}");
    let page = commits.repository.space.path("work/.throng/comparison.html");
    assert!(page.exists());

    run(&commits.build(&commits.second)).with(0);
    let posted = commits.repository.forge.comments();
    let [comment] = &posted[..] else {
        panic!("the comment is not replaced");
    };
    assert!(comment.contains("## ✅ no difference\n"), "{comment}");
    // What was checked out and started is gone.
    let mut trees = Command::new("git");
    trees.args(["worktree", "list"]).current_dir(commits.repository.space.path("work"));
    let listed = trees.output().unwrap().stdout;
    assert_eq!(String::from_utf8(listed).unwrap().lines().count(), 1);
}

#[test]
fn the_github_action_runs_two_commits_in_pairs() {
    two_requests(github::run);
}

#[test]
fn the_gitlab_template_runs_two_commits_in_pairs() {
    two_requests(gitlab::run);
}

#[test]
fn a_commit_that_does_not_serve_is_in_the_comment() {
    if !has_programs() {
        return skip("a comment on two commits needs python3 and git");
    }
    let commits = Commits::new();
    let mut build = commits.build(&commits.first);
    build.inputs.insert(0, ("serve", "echo no port; exit 3".to_owned()));
    build.inputs.remove(1);
    github::run(&build).with(69);
    let comment = commits.repository.comment();
    assert!(comment.contains("❌ the old commit does not serve port "), "{comment}");
}
