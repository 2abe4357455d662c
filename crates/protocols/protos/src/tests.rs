//! Files that compile, and what is said of those that do not.

use grpc::{Kind, Label};

use super::*;

fn compiled(files: &[(&str, &str)]) -> Result<Schema, String> {
    let read = |name: &str| {
        let found = files.iter().find(|(own, _)| *own == name);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    };
    let folders = [String::new(), "lib/".to_owned()];
    let sources = Sources { folders: &folders, read: &read };
    compile(&[files[0].0.to_owned()], &sources).map_err(|problem| {
        let place = problem.place;
        let place = place.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
        format!("{}{place}: {}", problem.file, problem.message)
    })
}

const SHOP: &str = r#"syntax = "proto3";
package shop;
import "money.proto";
import "google/protobuf/timestamp.proto";
message Order {
  repeated int32 item_ids = 1;
  map<string, Money> prices = 2;
  oneof way { string post = 3; bool fetch = 4; }
  optional string note = 5;
  google.protobuf.Timestamp at = 6;
  State state = 7;
  enum State { OPEN = 0; DONE = 1; }
}
message Receipt { string id = 1; }
service Orders {
  rpc Place(Order) returns (Receipt);
  rpc Watch(Order) returns (stream Receipt);
}
"#;
const MONEY: &str = "syntax = \"proto3\";\npackage shop;\nmessage Money { int64 units = 1; }\n";

#[test]
fn files_and_their_imports_become_a_schema() {
    let schema = compiled(&[("shop.proto", SHOP), ("lib/money.proto", MONEY)]).unwrap();
    let service = schema.service("shop.Orders").unwrap();
    let place = &service.methods[0];
    assert_eq!((place.client_streams, place.server_streams), (false, false));
    assert!(service.methods[1].server_streams);
    let order = schema.message(place.request);
    assert_eq!(order.name, "shop.Order");
    let of = |name: &str| {
        let field = order.field(name).unwrap();
        (schema.kind_name(field.kind).to_owned(), field.label, field.has_presence)
    };
    assert_eq!(of("item_ids"), ("int32".to_owned(), Label::Repeated, false));
    assert_eq!(of("itemIds"), of("item_ids"));
    assert_eq!(of("prices").1, Label::Map);
    assert_eq!(of("note"), ("string".to_owned(), Label::Single, true));
    assert_eq!(of("at").0, "google.protobuf.Timestamp");
    assert_eq!(of("state").0, "shop.Order.State");
    let way = order.field("post").and_then(|field| field.oneof);
    assert_eq!(order.oneofs[way.unwrap() as usize], "way");
    assert_eq!(order.field("fetch").unwrap().oneof, way);
    assert!(matches!(order.field("fetch").unwrap().kind, Kind::Bool));
}

/// Of several names of one number the first is shown, as by Protocol Buffers' own libraries.
#[test]
fn names_of_numbers_are_in_the_order_of_their_file() {
    let text = "syntax = \"proto2\";\nenum Grade { option allow_alias = true; GOOD = 2; FINE = 2; \
                LOW = -1; BAD = 1; POOR = 1; WELL = 2; }\n\
                message Outer { enum Kind { option allow_alias = true; A = 0; B = 0; } }\n";
    let schema = compiled(&[("grade.proto", text)]).unwrap();
    let of = |name: &str| schema.enumerations.iter().find(|own| own.name == name).unwrap();
    let grade = of("Grade");
    let names: Vec<_> = grade.values.iter().map(|(name, number)| (&**name, *number)).collect();
    let expected = [("GOOD", 2), ("FINE", 2), ("LOW", -1), ("BAD", 1), ("POOR", 1), ("WELL", 2)];
    assert_eq!(names, expected);
    assert_eq!([2, 1, -1].map(|number| grade.name_of(number)), ["GOOD", "BAD", "LOW"].map(Some));
    assert_eq!(["GOOD", "WELL"].map(|name| grade.number(name)), [Some(2), Some(2)]);
    assert_eq!(of("Outer.Kind").name_of(0), Some("A"));
}

/// The linker looks for the place of each error and each option among those of all parts, if it has them: half a minute
/// for 20,000 errors.
#[test]
fn many_errors_and_options_take_linear_time() {
    let unknown: String =
        (0..20_000).map(|n| format!("message M{n} {{ none.T{n} t = 1; }}\n")).collect();
    let text = format!("syntax = \"proto3\";\n{unknown}");
    let found = compiled(&[("a.proto", &text)]).unwrap_err();
    assert_eq!(found, "a.proto:2:14: name 'none.T0' is not defined");
    // Each optional field is a group of its own.
    let field = |n: u32| format!("optional int32 x{n} = {n} [deprecated = true];\n");
    let fields: String = (1..=18_000).map(field).collect();
    let text = format!("syntax = \"proto3\";\nmessage A {{\n{fields}}}\n");
    let schema = compiled(&[("a.proto", &text)]).unwrap();
    let message = &schema.messages[0];
    assert_eq!((message.fields.len(), message.oneofs.len()), (18_000, 18_000));
    assert_eq!(message.fields[17_999].oneof, Some(17_999));
}

#[test]
fn what_is_compared_with_each_other_is_bounded() {
    let reserved: Vec<String> = (1..=20_000).map(|n| format!("{}", 2 * n)).collect();
    let fields: String = (1..=6_000).map(|n| format!("int32 x{n} = {};\n", 2 * n + 1)).collect();
    let text = format!(
        "syntax = \"proto3\";\nmessage A {{ reserved {};\n{fields}}}\n",
        reserved.join(", ")
    );
    let found = compiled(&[("a.proto", &text)]).unwrap_err();
    assert_eq!(found, "a.proto: too many fields, and too many numbers and names that are reserved");
}

#[test]
fn problems_have_their_places() {
    let importing = "syntax = \"proto3\";\n  import \"b.proto\";\n";
    let back = "syntax = \"proto3\";\nimport \"a.proto\";\n";
    let deep = "message A { ".repeat(70);
    for (files, expected) in [
        (
            &[("a.proto", importing), ("b.proto", back)][..],
            "b.proto:2:1: imports in a cycle: a.proto -> b.proto -> a.proto",
        ),
        (
            &[("a.proto", importing)],
            "a.proto:2:3: the import \"b.proto\" cannot be read: no such file",
        ),
        (
            &[("a.proto", "syntax = \"proto3\";\nmessage A { Nothing x = 1; }\n")],
            "a.proto:2:13: name 'Nothing' is not defined",
        ),
        (
            &[("a.proto", "import \"b.proto\";\nimport \"b.proto\";\n"), ("b.proto", "")],
            "a.proto:2:1: import 'b.proto' was listed twice",
        ),
        (
            &[(
                "a.proto",
                "syntax = \"proto3\";\nmessage A {\n  int32 x = 1;\n  int32 y = 1;\n}\n",
            )],
            "a.proto:4:13: field number '1' is already used",
        ),
        (
            &[("a.proto", "syntax = \"proto3\";\nmessage A { string }\n")],
            "a.proto:2:20: expected an identifier, but found '}'",
        ),
        (
            &[("a.proto", "import \"../b.proto\";\n")],
            "a.proto:1:8: imports may not contain backslashes, repeated forward slashes, '.' or '..' components",
        ),
        (
            &[("a.proto", deep.as_str())],
            "a.proto:1:779: more than 64 braces, brackets or parentheses within each other",
        ),
    ] {
        assert_eq!(compiled(files).unwrap_err(), expected);
    }
}
