//! Types of messages and services: the part of `.proto` files that calls need.

use serde::Serialize;

use crate::wire::WireType;

/// All messages, enumerations and services of some `.proto` files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Schema {
    /// Messages by number.
    pub messages: Vec<Message>,
    /// Enumerations by number.
    pub enumerations: Vec<Enumeration>,
    /// Services in the order of their files.
    pub services: Vec<Service>,
}

/// A message's fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Name with its package.
    pub name: String,
    /// Fields ordered by number.
    pub fields: Vec<Field>,
    /// Names of its `oneof` groups, by number.
    pub oneofs: Vec<String>,
}

/// A field of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Number on the wire.
    pub number: u32,
    /// Name as the file has it.
    pub name: String,
    /// Name in the JSON mapping of Protocol Buffers.
    pub json_name: String,
    /// Type of the field; for a map the entry's message, whose fields 1 and 2 are key and value.
    pub kind: Kind,
    /// How often it may be there.
    pub label: Label,
    /// Whether several numbers share one key on the wire.
    pub is_packed: bool,
    /// Whether a message says if it is there.
    pub has_presence: bool,
    /// The `oneof` group that it belongs to.
    pub oneof: Option<u32>,
}

/// How often a field may be in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Label {
    /// Once or not at all.
    Single,
    /// Once.
    Required,
    /// Any number of times.
    Repeated,
    /// Any number of times, as pairs of key and value.
    Map,
}

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Kind {
    /// `double`
    Double,
    /// `float`
    Float,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `uint32`
    Uint32,
    /// `uint64`
    Uint64,
    /// `sint32`
    Sint32,
    /// `sint64`
    Sint64,
    /// `fixed32`
    Fixed32,
    /// `fixed64`
    Fixed64,
    /// `sfixed32`
    Sfixed32,
    /// `sfixed64`
    Sfixed64,
    /// `bool`
    Bool,
    /// `string`
    Text,
    /// `bytes`
    Bytes,
    /// The message of this number.
    Message(u32),
    /// The enumeration of this number.
    Enumeration(u32),
    /// A `group` of proto2, which is neither written nor read.
    Group,
}

/// Names of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Enumeration {
    /// With its package.
    pub name: String,
    /// Names and numbers in the file's order. Several names may have one number.
    pub values: Vec<(String, i32)>,
}

/// A service and its methods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Service {
    /// With its package.
    pub name: String,
    /// In the file's order.
    pub methods: Vec<Method>,
}

/// A method of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Method {
    /// Without its service.
    pub name: String,
    /// The number of the request's message.
    pub request: u32,
    /// The number of the reply's message.
    pub reply: u32,
    /// The client sends any number of messages.
    pub client_streams: bool,
    /// The server sends any number of messages.
    pub server_streams: bool,
}

impl Schema {
    /// The message of this number; the schema's own numbers only.
    pub fn message(&self, number: u32) -> &Message {
        &self.messages[number as usize]
    }

    /// The enumeration of this number; the schema's own numbers only.
    pub fn enumeration(&self, number: u32) -> &Enumeration {
        &self.enumerations[number as usize]
    }

    /// The service of this name.
    pub fn service(&self, name: &str) -> Option<&Service> {
        self.services.iter().find(|service| service.name == name)
    }

    /// The name of a type in `.proto` files.
    pub fn kind_name(&self, kind: Kind) -> &str {
        match kind {
            Kind::Message(number) => &self.message(number).name,
            Kind::Enumeration(number) => &self.enumeration(number).name,
            Kind::Double => "double",
            Kind::Float => "float",
            Kind::Int32 => "int32",
            Kind::Int64 => "int64",
            Kind::Uint32 => "uint32",
            Kind::Uint64 => "uint64",
            Kind::Sint32 => "sint32",
            Kind::Sint64 => "sint64",
            Kind::Fixed32 => "fixed32",
            Kind::Fixed64 => "fixed64",
            Kind::Sfixed32 => "sfixed32",
            Kind::Sfixed64 => "sfixed64",
            Kind::Bool => "bool",
            Kind::Text => "string",
            Kind::Bytes => "bytes",
            Kind::Group => "group",
        }
    }
}

impl Message {
    /// The field of this name, as the file or the JSON mapping has it.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let mut fields = self.fields.iter();
        fields.find(|field| field.name == name || field.json_name == name)
    }

    /// The place of the field with this number.
    pub(crate) fn place_of(&self, number: u32) -> Option<usize> {
        let found = self.fields.binary_search_by_key(&number, |field| field.number);
        found.ok()
    }
}

impl Kind {
    /// How a single value is written.
    pub fn wire_type(self) -> WireType {
        match self {
            Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => WireType::Eight,
            Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => WireType::Four,
            Kind::Text | Kind::Bytes | Kind::Message(_) => WireType::Length,
            Kind::Int32
            | Kind::Int64
            | Kind::Uint32
            | Kind::Uint64
            | Kind::Sint32
            | Kind::Sint64
            | Kind::Bool
            | Kind::Enumeration(_) => WireType::Varint,
            Kind::Group => WireType::GroupStart,
        }
    }
}

impl Enumeration {
    /// The number of a name.
    pub fn number(&self, name: &str) -> Option<i32> {
        let mut values = self.values.iter();
        values.find(|(own, _)| own == name).map(|(_, n)| *n)
    }

    /// The first name of a number.
    pub fn name_of(&self, number: i32) -> Option<&str> {
        let mut values = self.values.iter();
        values.find(|(_, n)| *n == number).map(|(name, _)| &**name)
    }
}
