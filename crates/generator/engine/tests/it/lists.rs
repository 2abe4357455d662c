//! Loops over lists that responses have, and files in bodies.

use record::Outcome;

use crate::peers::{HttpPeer, ok};
use crate::support::{MS, Ran, run};

fn play(steps: &str, list: &'static str) -> (Ran, Vec<String>) {
    let text = format!(
        "
name: lists
target: http://a.test/
sessions:
  main:
{steps}
arrivals: [ {{ constant: 1/s, for: 1s }}, {{ hold: 4s }} ]
"
    );
    let mut peer = HttpPeer::new(|_| MS, |_| ok(list));
    let ran = run(&text, &mut peer);
    let lines = peer.requests.iter();
    let lines = lines.filter_map(|request| Some(request.split(' ').nth(1)?.to_owned()));
    (ran, lines.collect())
}

const LOOP: &str = "    - { get: /list, save: { found: /items } }
    - foreach: found
      as: item
      index: n
      steps:
        - { get: \"/${n}/${json(item, '/id')}\", as: item }
    - { get: \"/end/${n}\", as: end }";

#[test]
fn each_item_of_a_list_is_visited_in_its_order() {
    let list = r#"{"items": [{"id": "a"}, {"id": 7}, {"name": "no id"}]}"#;
    let (ran, paths) = play(LOOP, list);
    assert_eq!(paths, ["/list", "/0/a", "/1/7", "/2/", "/end/2"]);
    assert_eq!(ran.outcomes("item"), [Outcome::Ok; 3]);
}

#[test]
fn an_empty_list_has_no_rounds_and_a_limit_ends_a_long_one() {
    let (_, paths) = play(LOOP, r#"{"items": []}"#);
    assert_eq!(paths, ["/list", "/end/-1"]);
    let limited = LOOP.replace("index: n", "index: n\n      max: 2");
    let (_, paths) = play(&limited, r#"{"items": [1, 2, 3, 4]}"#);
    assert_eq!(paths, ["/list", "/0/", "/1/", "/end/1"]);
}

#[test]
fn what_is_no_list_is_an_error() {
    let (ran, paths) = play(LOOP, r#"{"items": {"id": 1}}"#);
    assert_eq!(paths, ["/list"]);
    assert_eq!(ran.counted("steps", Outcome::Step), 1);
    let details = ran.details();
    assert!(details[0].contains("is not a list in JSON"), "{details:?}");
}

#[test]
fn loops_over_lists_nest() {
    let steps = "    - { get: /list, save: { rows: body } }
    - foreach: rows
      as: row
      steps:
        - foreach: row
          as: cell
          steps: [ { get: \"/${cell}\", as: cell } ]";
    let (_, paths) = play(steps, "[[1, 2], [], [3]]");
    assert_eq!(paths, ["/list", "/1", "/2", "/3"]);
}

#[test]
fn lists_of_the_scenario_and_of_functions_are_visited_as_well() {
    let steps = "    - set: { own: [ a, { id: \"${user}\" } ], words: \"x y\" }
    - { get: /list, save: { rows: body } }
    - foreach: own
      as: item
      steps: [ { get: \"/own/${json(item, '/id')}\", as: own } ]
    - foreach: split(words, ' ')
      as: item
      steps: [ { get: \"/split/${item}\", as: split } ]
    - foreach: json(rows, '$[?(@.open)].id')
      as: item
      steps: [ { get: \"/open/${item}\", as: open } ]";
    let rows = r#"[{"id": 1}, {"id": 2, "open": true}, {"id": 3, "open": 1}]"#;
    let (_, paths) = play(steps, rows);
    let expected = "/list /own/ /own/0 /split/x /split/y /open/2 /open/3";
    assert_eq!(paths, expected.split(' ').collect::<Vec<_>>());
}

#[test]
fn a_file_is_sent_with_a_users_own_fields() {
    let text = "
name: upload
target: http://a.test/
sessions:
  main:
    - post: /upload
      multipart: { who: \"user ${user}\", file: { file: hello.txt, type: text/plain } }
arrivals: [ { constant: 2/s, for: 1s }, { hold: 4s } ]
";
    let mut peer = HttpPeer::new(|_| MS, |_| ok("thanks"));
    run(text, &mut peer);
    assert_eq!(peer.requests.len(), 2);
    for (number, request) in peer.requests.iter().enumerate() {
        assert!(request.contains(&format!("user {number}\r\n--")), "{request}");
        assert!(
            request
                .contains("filename=\"hello.txt\"\r\ncontent-type: text/plain\r\n\r\nhello\r\n--")
        );
    }
}

#[test]
fn json_path_saves_a_list_of_all_places() {
    let steps = "    - get: /list
      save: { open: '$.items[?(@.open == true)].id', all: '$..id', none: '$.items[*].name', one: '$.items[0].id' }
    - { get: \"/${join(open, '-')}/${join(all, '-')}/${none}/${one}\", as: found }";
    let list =
        r#"{"id": 0, "items": [{"id": 1, "open": true}, {"id": 2}, {"id": "x", "open": true}]}"#;
    let (_, paths) = play(steps, list);
    assert_eq!(paths, ["/list", "/1-x/0-1-2-x/%5B%5D/1"]);
    let (ran, _) = play(steps, "no JSON");
    assert!(ran.details()[0].contains("no JSON"), "{:?}", ran.details());
}

/// A filter of all values in a filter of all values: n⁴ comparisons, of a list whose length the target chooses.
#[test]
fn a_search_that_takes_too_much_work_fails_its_step() {
    let steps = "    - get: /list
      save: { found: { pointer: '$[?$[?$[?$[?@.id > 3]]]]', default: none } }
      as: list
    - { get: /end, as: end }";
    let (ran, _) = play(steps, "[{\"id\":7}]");
    assert_eq!((ran.outcomes("list"), ran.outcomes("end")), (vec![Outcome::Ok], vec![Outcome::Ok]));
    let list = format!("[{}0]", "{\"id\":1},".repeat(90));
    let (ran, _) = play(steps, list.leak());
    assert_eq!(ran.outcomes("list"), [Outcome::TooMuchWork]);
    assert!(ran.outcomes("end").is_empty(), "what is unknown has no default");
    let expected = "the searches would look at more than 5,000,000 values, for $";
    assert!(ran.details()[0].starts_with(expected), "{:?}", ran.details());
}

#[test]
fn the_searches_of_a_step_share_their_work() {
    let path = "'$[?($[?($[?@.a])])]'";
    let one = format!("    - {{ get: /list, save: {{ a: {path} }}, as: list }}");
    let two = format!("    - {{ get: /list, save: {{ a: {path}, b: {path} }}, as: list }}");
    // Some 120 values: 2 · 120³ visits a search.
    let list: &str = format!("[{}0]", "[0],".repeat(58)).leak();
    assert_eq!(play(&one, list).0.outcomes("list"), [Outcome::Ok]);
    assert_eq!(play(&two, list).0.outcomes("list"), [Outcome::TooMuchWork]);
}

/// An expression of some 4,000 states, of which a text of one letter keeps all busy.
#[test]
fn an_expression_that_takes_too_much_work_fails_its_step() {
    let steps = "    - get: /text
      save: { found: { regex: '(?:a{1,200}){1,20}x', default: none } }
      as: text
    - { get: /end, as: end }";
    let (ran, _) = play(steps, "aaa");
    assert_eq!(ran.outcomes("text"), [Outcome::Ok]);
    let (ran, _) = play(steps, "a".repeat(200_000).leak());
    assert_eq!(ran.outcomes("text"), [Outcome::TooMuchWork]);
    assert!(ran.outcomes("end").is_empty(), "what is unknown has no default");
    let expected = "the regular expressions would take more than 50,000,000 steps, for `";
    assert!(ran.details()[0].starts_with(expected), "{:?}", ran.details());
}

#[test]
fn a_page_that_takes_too_much_work_fails_its_step() {
    let steps = "    - { get: /page, save: { found: { css: i, default: none } }, as: page }";
    let names: String = (0..60_000).map(|n| format!(" a{n}")).collect();
    let (ran, _) = play(steps, format!("<a{names}>").leak());
    assert_eq!(ran.outcomes("page"), [Outcome::TooMuchWork]);
    assert!(ran.details()[0].contains("too many attributes in a tag"), "{:?}", ran.details());
}

#[test]
fn selectors_save_elements_of_a_page() {
    let steps = "    - get: /form
      save:
        token: { css: 'form input[name=_csrf]', attr: value }
        title: { css: title }
        links: { css: 'nav a', attr: href, all: true }
        none: { css: '.error', default: fine }
    - { get: \"/${token}/${title}/${join(links, '-')}/${none}\", as: found }";
    let page = "<title> Shop\n</title><nav><a href=1>x</a><a>y</a><a href=2>z</a></nav>
        <form><input name=other value=wrong><input name=_csrf value='t&amp;1'></form>";
    let (ran, paths) = play(steps, page);
    assert_eq!(paths, ["/form", "/t%261/Shop/1-2/fine"], "{:?}", ran.details());
    let (ran, _) = play(steps, "{}");
    let detail = &ran.details()[0];
    let expected = "no element `form input[name=_csrf]` with the attribute `value` in `{}`";
    assert_eq!(detail, expected);
}
