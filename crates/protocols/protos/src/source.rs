//! A file's descriptor → its text, for services whose server describes them.
//!
//! Messages, enumerations and services are written, since calls need them. Comments are not in descriptors; options,
//! extensions and reserved numbers are left out. A server's descriptors are not to be trusted, so names that are none
//! are refused.

use std::fmt::Write;

use prost_reflect::prost::Message as _;
use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumOptions, FieldDescriptorProto, FileDescriptorProto,
    MessageOptions, MethodDescriptorProto, ServiceDescriptorProto,
};

/// The text of a `.proto` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// As it is imported.
    pub name: String,
    /// The names of the files that it imports.
    pub imports: Vec<String>,
    pub text: String,
    /// `package.Service/Method` of all its methods.
    pub methods: Vec<String>,
}

/// Why a descriptor has no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unprintable {
    /// It is no descriptor of a file.
    #[error("it is no descriptor of a file: {0}")]
    Encoding(String),
    /// The language of the file is newer than the compiler.
    #[error("`{0}` is neither proto2 nor proto3")]
    Syntax(String),
    /// A name in the descriptor is none.
    #[error("{0:?} is no name")]
    Name(String),
    /// A name of a file is no path below a folder.
    #[error("{0:?} is no path below a folder")]
    Path(String),
    /// A field has a type that does not exist.
    #[error("the field `{0}` has no type")]
    Type(String),
}

/// Writes the text of the file that a `FileDescriptorProto` describes (descriptor.proto of Protocol Buffers).
///
/// # Errors
/// The bytes are none, or describe what the language cannot say.
pub fn source(descriptor: &[u8]) -> Result<Source, Unprintable> {
    let file = FileDescriptorProto::decode(descriptor)
        .map_err(|error| Unprintable::Encoding(error.to_string()))?;
    let mut writer = Writer {
        text: String::new(),
        is_proto3: match file.syntax() {
            "proto3" => true,
            "" | "proto2" => false,
            other => return Err(Unprintable::Syntax(other.to_owned())),
        },
        scope: String::new(),
        indent: 0,
    };
    writer.file(&file)?;
    let mut methods = Vec::new();
    for service in &file.service {
        let names = service.method.iter().map(MethodDescriptorProto::name);
        let service = qualified(file.package(), service.name());
        methods.extend(names.map(|method| format!("{service}/{method}")));
    }
    Ok(Source {
        name: path(file.name())?.to_owned(),
        imports: file.dependency,
        text: writer.text,
        methods,
    })
}

struct Writer {
    text: String,
    is_proto3: bool,
    /// The full name of what is being written, with a dot in front; empty: nothing has a name yet.
    scope: String,
    indent: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        for _ in 0..self.indent {
            self.text.push_str("  ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A block `head { … }`; names in it are below `name`.
    fn block(
        &mut self,
        head: &str,
        name: &str,
        inside: impl FnOnce(&mut Writer) -> Result<(), Unprintable>,
    ) -> Result<(), Unprintable> {
        let scope_bytes = self.scope.len();
        self.line(&format!("{head} {{"));
        self.indent += 1;
        self.scope.push('.');
        self.scope.push_str(name);
        inside(self)?;
        self.scope.truncate(scope_bytes);
        self.indent -= 1;
        self.line("}");
        Ok(())
    }

    fn file(&mut self, file: &FileDescriptorProto) -> Result<(), Unprintable> {
        let syntax = if self.is_proto3 { "proto3" } else { "proto2" };
        self.line(&format!("syntax = \"{syntax}\";"));
        if !file.package().is_empty() {
            let package = type_name(file.package())?;
            self.text.push('\n');
            self.line(&format!("package {package};"));
            self.scope = format!(".{package}");
        }
        if !file.dependency.is_empty() {
            self.text.push('\n');
        }
        for (number, import) in (0..).zip(&file.dependency) {
            let public = match file.public_dependency.contains(&number) {
                true => "public ",
                false => "",
            };
            self.line(&format!("import {public}\"{}\";", path(import)?));
        }
        for service in &file.service {
            self.text.push('\n');
            self.service(service)?;
        }
        for message in &file.message_type {
            self.text.push('\n');
            self.message(message)?;
        }
        for enumeration in &file.enum_type {
            self.text.push('\n');
            self.enumeration(enumeration)?;
        }
        Ok(())
    }

    fn service(&mut self, own: &ServiceDescriptorProto) -> Result<(), Unprintable> {
        let name = identifier(own.name())?;
        self.block(&format!("service {name}"), name, |writer| {
            for method in &own.method {
                let stream = |streams| if streams { "stream " } else { "" };
                let line = format!(
                    "rpc {}({}{}) returns ({}{});",
                    identifier(method.name())?,
                    stream(method.client_streaming()),
                    type_name(method.input_type())?,
                    stream(method.server_streaming()),
                    type_name(method.output_type())?,
                );
                writer.line(&line);
            }
            Ok(())
        })
    }

    fn message(&mut self, own: &DescriptorProto) -> Result<(), Unprintable> {
        let name = identifier(own.name())?;
        self.block(&format!("message {name}"), name, |writer| writer.inside_message(own))
    }

    fn inside_message(&mut self, own: &DescriptorProto) -> Result<(), Unprintable> {
        let is_group = |nested: &DescriptorProto| {
            let full = format!("{}.{}", self.scope, nested.name());
            own.field.iter().any(|field| field.r#type() == Type::Group && field.type_name() == full)
        };
        let is_own = |nested: &&DescriptorProto| !is_map_entry(nested) && !is_group(nested);
        let messages: Vec<_> = own.nested_type.iter().filter(is_own).collect();
        let mut written = vec![false; own.oneof_decl.len()];
        for field in &own.field {
            match oneof_of(field) {
                None => self.field(own, field)?,
                Some(group) if written.get(group) == Some(&false) => {
                    written[group] = true;
                    let name = identifier(own.oneof_decl[group].name())?;
                    self.oneof(own, group, name)?;
                }
                Some(group) if group < written.len() => {}
                Some(_) => return Err(Unprintable::Name(field.name().to_owned())),
            }
        }
        for message in messages {
            self.message(message)?;
        }
        for enumeration in &own.enum_type {
            self.enumeration(enumeration)?;
        }
        Ok(())
    }

    /// The fields of a `oneof`, which is no scope of its own.
    fn oneof(
        &mut self,
        own: &DescriptorProto,
        group: usize,
        name: &str,
    ) -> Result<(), Unprintable> {
        self.line(&format!("oneof {name} {{"));
        self.indent += 1;
        for field in &own.field {
            if oneof_of(field) == Some(group) {
                self.field(own, field)?;
            }
        }
        self.indent -= 1;
        self.line("}");
        Ok(())
    }

    fn field(
        &mut self,
        own: &DescriptorProto,
        field: &FieldDescriptorProto,
    ) -> Result<(), Unprintable> {
        let name = identifier(field.name())?;
        let number = field.number();
        let options = options(field)?;
        let nested = own.nested_type.iter().find(|nested| {
            let full = format!("{}.{}", self.scope, nested.name());
            full == field.type_name()
        });
        if let Some(entry) = nested.filter(|nested| is_map_entry(nested)) {
            let of = |number: i32| entry.field.iter().find(|field| field.number() == number);
            let (Some(key), Some(value)) = (of(1), of(2)) else {
                return Err(Unprintable::Type(name.to_owned()));
            };
            let key = type_of(key)?;
            let value = type_of(value)?;
            self.line(&format!("map<{key}, {value}> {name} = {number}{options};"));
            return Ok(());
        }
        let label = match field.label() {
            _ if oneof_of(field).is_some() => "",
            Label::Repeated => "repeated ",
            Label::Required => "required ",
            Label::Optional if !self.is_proto3 || field.proto3_optional() => "optional ",
            Label::Optional => "",
        };
        if let (Type::Group, Some(group)) = (field.r#type(), nested) {
            let name = identifier(group.name())?;
            let head = format!("{label}group {name} = {number}{options}");
            return self.block(&head, name, |writer| writer.inside_message(group));
        }
        let kind = type_of(field)?;
        self.line(&format!("{label}{kind} {name} = {number}{options};"));
        Ok(())
    }

    fn enumeration(&mut self, own: &EnumDescriptorProto) -> Result<(), Unprintable> {
        let name = identifier(own.name())?;
        let has_aliases = own.options.as_ref().is_some_and(EnumOptions::allow_alias);
        self.block(&format!("enum {name}"), name, |writer| {
            if has_aliases {
                writer.line("option allow_alias = true;");
            }
            for value in &own.value {
                let line = format!("{} = {};", identifier(value.name())?, value.number());
                writer.line(&line);
            }
            Ok(())
        })
    }
}

/// The `oneof` that a field is written in: one that stands for `optional` is not written.
fn oneof_of(field: &FieldDescriptorProto) -> Option<usize> {
    let group = field.oneof_index.filter(|_| !field.proto3_optional())?;
    // One that is negative is none that there is.
    Some(usize::try_from(group).unwrap_or(usize::MAX))
}

fn is_map_entry(own: &DescriptorProto) -> bool {
    own.options.as_ref().is_some_and(MessageOptions::map_entry)
}

fn type_of(field: &FieldDescriptorProto) -> Result<&str, Unprintable> {
    let unknown = || Unprintable::Type(field.name().to_owned());
    let kind = field.r#type.ok_or_else(unknown)?;
    Ok(match Type::try_from(kind).map_err(|_| unknown())? {
        Type::Double => "double",
        Type::Float => "float",
        Type::Int64 => "int64",
        Type::Uint64 => "uint64",
        Type::Int32 => "int32",
        Type::Fixed64 => "fixed64",
        Type::Fixed32 => "fixed32",
        Type::Bool => "bool",
        Type::String => "string",
        Type::Bytes => "bytes",
        Type::Uint32 => "uint32",
        Type::Sfixed32 => "sfixed32",
        Type::Sfixed64 => "sfixed64",
        Type::Sint32 => "sint32",
        Type::Sint64 => "sint64",
        Type::Message | Type::Enum => type_name(field.type_name())?,
        Type::Group => return Err(unknown()),
    })
}

/// The options in brackets behind a field: those that a message's bytes, or its form as JSON, depend on.
fn options(field: &FieldDescriptorProto) -> Result<String, Unprintable> {
    let mut all = Vec::new();
    if let Some(packed) = field.options.as_ref().and_then(|options| options.packed) {
        all.push(format!("packed = {packed}"));
    }
    if !field.json_name().is_empty() && field.json_name() != json_name(field.name()) {
        all.push(format!("json_name = {}", quoted(field.json_name())?));
    }
    Ok(match all.is_empty() {
        true => String::new(),
        false => format!(" [{}]", all.join(", ")),
    })
}

/// The name that a field has in JSON without an option: lower camel case.
fn json_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut is_first_of_word = false;
    for letter in name.chars() {
        match letter {
            '_' => is_first_of_word = true,
            _ if is_first_of_word => {
                out.push(letter.to_ascii_uppercase());
                is_first_of_word = false;
            }
            _ => out.push(letter),
        }
    }
    out
}

fn quoted(text: &str) -> Result<String, Unprintable> {
    if text.chars().any(char::is_control) {
        return Err(Unprintable::Name(text.to_owned()));
    }
    let mut out = String::from("\"");
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            out.push('\\');
        }
        // Writing to a text does not fail.
        let _ = out.write_char(letter);
    }
    out.push('"');
    Ok(out)
}

fn qualified(package: &str, name: &str) -> String {
    match package {
        "" => name.to_owned(),
        package => format!("{package}.{name}"),
    }
}

fn identifier(name: &str) -> Result<&str, Unprintable> {
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let begins = name.as_bytes().first().is_some_and(is_letter);
    match begins && name.bytes().all(|b| is_letter(&b) || b.is_ascii_digit()) {
        true => Ok(name),
        false => Err(Unprintable::Name(name.to_owned())),
    }
}

/// Names with dots between them, and perhaps one in front.
fn type_name(name: &str) -> Result<&str, Unprintable> {
    let parts = name.strip_prefix('.').unwrap_or(name).split('.');
    for part in parts {
        identifier(part).map_err(|_| Unprintable::Name(name.to_owned()))?;
    }
    Ok(name)
}

/// A name of a file that can be written below a folder, on any system.
fn path(name: &str) -> Result<&str, Unprintable> {
    let is_plain = |letter: char| !letter.is_control() && !matches!(letter, '"' | '\\' | ':');
    let is_part = |part: &str| !matches!(part, "" | "." | "..");
    match name.len() < 1_000 && name.chars().all(is_plain) && name.split('/').all(is_part) {
        true => Ok(name),
        false => Err(Unprintable::Path(name.to_owned())),
    }
}

#[cfg(test)]
mod tests;
