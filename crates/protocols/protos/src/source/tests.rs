//! What is written compiles to what was described, and what cannot be written is refused.

use grpc::{Kind, Schema};
use prost_reflect::prost_types::{MethodDescriptorProto, OneofDescriptorProto};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use super::*;
use crate::{Sources, compile};

const MODERN: &str = r#"syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
message Order {
  repeated int32 item_ids = 1;
  repeated int32 loose = 2 [packed = false];
  map<string, Line> lines = 3;
  oneof way {
    string post = 4;
    Line fetch = 5;
  }
  optional string note = 6 [json_name = "the \"note\""];
  google.protobuf.Timestamp at = 7;
  State state = 8;
  message Line {
    uint64 units = 1;
    map<int32, bool> flags = 2;
    .shop.v1.Order whole = 3;
  }
  enum State {
    OPEN = 0;
    DONE = -1;
  }
}
message Nothing {}
enum Level {
  option allow_alias = true;
  LOW = 0;
  NONE = 0;
}
service Orders {
  rpc Place(Order) returns (Nothing);
  rpc Watch(stream Order) returns (stream Order.Line);
}
"#;

const OLD: &str = r#"syntax = "proto2";
message Old {
  required string name = 1;
  optional sint64 size = 2 [default = -5];
  repeated fixed32 sums = 3 [packed = true];
  repeated group Part = 4 {
    optional bytes data = 1;
    optional Inner inner = 2;
    message Inner { optional double x = 1; }
  }
  oneof kind {
    bool a = 6;
    float b = 7;
  }
  extensions 100 to 199;
}
extend Old { optional int32 further = 100; }
"#;

struct One(&'static str);

impl FileResolver for One {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match name {
            "one.proto" => File::from_source(name, self.0),
            _ => Err(protox::Error::file_not_found(name)),
        }
    }
}

/// The descriptor of a file, as its server has it.
fn descriptor(text: &'static str) -> FileDescriptorProto {
    let mut resolver = ChainFileResolver::new();
    resolver.add(One(text));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = Compiler::with_file_resolver(resolver);
    compiler.open_file("one.proto").unwrap();
    let mut files = compiler.file_descriptor_set().file;
    files.remove(files.iter().position(|file| file.name() == "one.proto").unwrap())
}

fn written(file: &FileDescriptorProto) -> Result<Source, Unprintable> {
    source(&file.encode_to_vec())
}

/// A schema in words, whatever the order of its messages is.
fn described(text: &str) -> Vec<String> {
    let folders = [String::new()];
    let sources = Sources {
        folders: &folders,
        read: &|name| match name {
            "one.proto" => Ok(text.to_owned()),
            _ => Err("no such file".to_owned()),
        },
    };
    let schema: Schema = compile(&["one.proto".to_owned()], &sources).unwrap();
    let mut lines = Vec::new();
    for message in &schema.messages {
        lines.push(format!("{} {:?}", message.name, message.oneofs));
        for field in &message.fields {
            let kind = match field.kind {
                Kind::Message(_) | Kind::Enumeration(_) => schema.kind_name(field.kind).to_owned(),
                kind => format!("{kind:?}"),
            };
            let mut field = field.clone();
            field.kind = Kind::Bool;
            lines.push(format!("{} {kind} {field:?}", message.name));
        }
    }
    lines.extend(schema.enumerations.iter().map(|own| format!("{own:?}")));
    for service in &schema.services {
        for method in &service.methods {
            let named = |number| &schema.message(number).name;
            lines.push(format!(
                "{}/{} {} {} {} {}",
                service.name,
                method.name,
                named(method.request),
                named(method.reply),
                method.client_streams,
                method.server_streams
            ));
        }
    }
    lines.sort();
    lines
}

#[test]
fn what_is_written_compiles_to_what_was_described() {
    for text in [MODERN, OLD] {
        let file = descriptor(text);
        let source = written(&file).unwrap();
        assert_eq!(described(&source.text), described(text), "{}", source.text);
        assert_eq!(source.name, "one.proto");
    }
}

#[test]
fn a_source_names_its_imports_and_methods() {
    let source = written(&descriptor(MODERN)).unwrap();
    assert_eq!(source.imports, ["google/protobuf/timestamp.proto"]);
    assert_eq!(source.methods, ["shop.v1.Orders/Place", "shop.v1.Orders/Watch"]);
    let start = r#"syntax = "proto3";

package shop.v1;

import "google/protobuf/timestamp.proto";

service Orders {
  rpc Place(.shop.v1.Order) returns (.shop.v1.Nothing);
  rpc Watch(stream .shop.v1.Order) returns (stream .shop.v1.Order.Line);
}

message Order {
  repeated int32 item_ids = 1;
  repeated int32 loose = 2 [packed = false];
  map<string, .shop.v1.Order.Line> lines = 3;
  oneof way {
    string post = 4;
"#;
    assert_eq!(&source.text[..start.len()], start);
}

#[test]
fn names_that_are_none_are_refused() {
    let changed = |change: &dyn Fn(&mut FileDescriptorProto)| {
        let mut file = descriptor(MODERN);
        change(&mut file);
        written(&file).map(|_| ()).unwrap_err()
    };
    let name = |name: &str| Unprintable::Name(name.to_owned());
    let evil = "a;} message B {";
    let set = |place: &mut Option<String>| *place = Some(evil.to_owned());
    assert_eq!(changed(&|file| set(&mut file.package)), name(evil));
    let message = |file: &mut FileDescriptorProto| set(&mut file.message_type[0].name);
    assert_eq!(changed(&message), name(evil));
    let field = |file: &mut FileDescriptorProto| set(&mut file.message_type[0].field[0].name);
    assert_eq!(changed(&field), name(evil));
    let kind = |file: &mut FileDescriptorProto| set(&mut file.message_type[0].field[6].type_name);
    assert_eq!(changed(&kind), name(evil));
    let method = |file: &mut FileDescriptorProto| set(&mut file.service[0].method[0].input_type);
    assert_eq!(changed(&method), name(evil));
    for file_name in ["../up.proto", "/etc/x", "a//b", "", "c:\\x", "a\"b", "a\nb"] {
        let error = changed(&|file| file.name = Some(file_name.to_owned()));
        assert_eq!(error, Unprintable::Path(file_name.to_owned()));
        let error = changed(&|file| file.dependency.push(file_name.to_owned()));
        assert_eq!(error, Unprintable::Path(file_name.to_owned()));
    }
}

#[test]
fn descriptors_that_contradict_themselves_are_refused() {
    let mut file = descriptor(MODERN);
    file.message_type[0].field[0].oneof_index = Some(9);
    assert_eq!(written(&file), Err(Unprintable::Name("item_ids".to_owned())));
    file.message_type[0].field[0].oneof_index = Some(-1);
    assert!(written(&file).is_err());
    let mut file = descriptor(MODERN);
    file.message_type[0].field[0].r#type = Some(99);
    assert_eq!(written(&file), Err(Unprintable::Type("item_ids".to_owned())));
    let mut file = descriptor(MODERN);
    file.syntax = Some("editions".to_owned());
    assert_eq!(written(&file), Err(Unprintable::Syntax("editions".to_owned())));
    assert!(matches!(source(b"\xff\xff"), Err(Unprintable::Encoding(_))));
    // A group without a message.
    let mut file = descriptor(OLD);
    file.message_type[0].nested_type.clear();
    assert_eq!(written(&file), Err(Unprintable::Type("part".to_owned())));
    // A service without names.
    let mut file = descriptor(MODERN);
    file.service[0].method.push(MethodDescriptorProto::default());
    assert_eq!(written(&file), Err(Unprintable::Name(String::new())));
    let mut file = descriptor(MODERN);
    file.message_type[0].oneof_decl[0] = OneofDescriptorProto::default();
    assert_eq!(written(&file), Err(Unprintable::Name(String::new())));
}
