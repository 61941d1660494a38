use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::ProblemKind;
use crate::json::JsonText;
use crate::name::{ModuleName, NameError, ToolName};

/// How long a tool may take where its manifest doesn't say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest that a tool may take.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// A tool that a module serves.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tool {
    /// Its name within the module.
    pub name: ToolName,
    /// What it does, for whoever chooses among tools.
    pub description: String,
    /// The JSON Schema of what it takes: always one of an object with `properties`.
    pub input: JsonText,
    /// The JSON Schema of what it answers.
    pub output: Option<JsonText>,
    /// Whether calling it twice does no more than calling it once.
    pub repeatable: bool,
    /// How long it may take, from 1 ms to [`MAX_TIMEOUT`].
    pub timeout: Duration,
}

/// A tool of a module: `<module>.<tool>` in text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolRef {
    /// The module that serves it.
    pub module: ModuleName,
    /// The tool.
    pub tool: ToolName,
}

/// Why a text is not `<module>.<tool>`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolRefError {
    /// No `.` between the two.
    #[error("expected <module>.<tool>")]
    NoDot,
    /// The module is not a name.
    #[error("{0}")]
    Module(NameError),
    /// The tool is not a name; the offset is within it.
    #[error("{0}")]
    Tool(NameError),
}

impl FromStr for ToolRef {
    type Err = ToolRefError;

    fn from_str(text: &str) -> Result<Self, ToolRefError> {
        let (module, tool) = text.split_once('.').ok_or(ToolRefError::NoDot)?;
        Ok(Self {
            module: ModuleName::new(module).map_err(ToolRefError::Module)?,
            tool: ToolName::new(tool).map_err(ToolRefError::Tool)?,
        })
    }
}

impl fmt::Display for ToolRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.module, self.tool)
    }
}

/// Why a table is not JSON, or not a JSON Schema that a tool can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A date or time of TOML's, which JSON doesn't have.
    #[error("JSON has no dates: write a string")]
    Date,
    /// `nan` or `inf`.
    #[error("JSON has no such number")]
    NotFinite,
    /// An input that is not an object.
    #[error("the schema of an input says `type = \"object\"`")]
    NotAnObject,
    /// `properties` that is not a table.
    #[error("`properties` is a table")]
    Properties,
}

/// The schema of an input: an object, with `properties` even where there are none.
pub(super) fn input_schema(table: Option<toml::Table>) -> Result<JsonText, SchemaError> {
    let mut schema = object(table.unwrap_or_default())?;
    let kind = schema.entry("type").or_insert_with(|| json!("object"));
    if *kind != "object" {
        return Err(SchemaError::NotAnObject);
    }
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if !properties.is_object() {
        return Err(SchemaError::Properties);
    }
    text(&Value::Object(schema))
}

/// Any table as JSON.
pub(super) fn json_text(table: toml::Table) -> Result<JsonText, SchemaError> {
    text(&Value::Object(object(table)?))
}

fn text(schema: &Value) -> Result<JsonText, SchemaError> {
    JsonText::from_value(schema).map_err(|_| SchemaError::NotFinite)
}

fn object(table: toml::Table) -> Result<Map<String, Value>, SchemaError> {
    table.into_iter().map(|(key, value)| Ok((key, json_value(value)?))).collect()
}

fn json_value(value: toml::Value) -> Result<Value, SchemaError> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(yes) => yes.into(),
        toml::Value::Float(number) if number.is_finite() => number.into(),
        toml::Value::Float(_) => return Err(SchemaError::NotFinite),
        toml::Value::Datetime(_) => return Err(SchemaError::Date),
        toml::Value::Array(items) => {
            let items: Result<_, _> = items.into_iter().map(json_value).collect();
            Value::Array(items?)
        }
        toml::Value::Table(table) => Value::Object(object(table)?),
    })
}

/// `30s`, `1m 30s`, `PT30S`.
pub(super) fn timeout(text: &str) -> Result<Duration, ProblemKind> {
    let read = duration(text);
    read.filter(|read| (Duration::from_millis(1)..=MAX_TIMEOUT).contains(read))
        .ok_or_else(|| ProblemKind::Timeout(text.to_owned()))
}

/// Any time that is not negative, written so.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let read = text.parse::<jiff::SignedDuration>().ok()?;
    Duration::try_from(read).ok()
}
