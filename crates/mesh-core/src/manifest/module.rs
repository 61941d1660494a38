use serde::Deserialize;

use super::checker::Checker;
use super::source::Source;
use super::{EventPattern, Problem, ProblemKind, Problems, Severity, Tool, ToolRef, tool};
use crate::json::JsonText;
use crate::name::{EventName, ModuleName, ProvisionName, SeatName, ToolName};
use crate::provision::is_reserved_tool;
use crate::subject::MAX_SUBJECT_BYTES;

/// What a module says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleManifest {
    /// Its name.
    pub name: ModuleName,
    /// Its version; any text.
    pub version: String,
    /// The events it emits, under its own name.
    pub emits: Vec<EventName>,
    /// The events it consumes.
    pub consumes: Vec<EventPattern>,
    /// The tools it calls.
    pub calls: Vec<ToolRef>,
    /// The tools it serves.
    pub tools: Vec<Tool>,
    /// What it gives others instances of.
    pub provides: Vec<Provision>,
    /// What it needs an instance of.
    pub requires: Vec<Requirement>,
    /// The seats of the mesh that it takes; each has one holder in a mesh.
    pub claims: Vec<SeatName>,
    pub(super) source: Source,
}

/// Something that a module provides to each consumer that requires it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Provision {
    /// What.
    pub name: ProvisionName,
    /// The fields that a consumer's credential has, exactly.
    pub credential: Vec<String>,
}

/// Something that a module requires an instance of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Requirement {
    /// What.
    pub provision: ProvisionName,
    /// Whose, where several modules provide it.
    pub from: Option<ModuleName>,
    /// What the module adds for the provider to read, a JSON object.
    pub contributes: JsonText,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawModule {
    name: String,
    version: String,
    #[serde(default)]
    emits: Vec<String>,
    #[serde(default)]
    consumes: Vec<String>,
    #[serde(default)]
    calls: Vec<String>,
    #[serde(default)]
    tools: Vec<RawTool>,
    #[serde(default)]
    provides: Vec<RawProvision>,
    #[serde(default)]
    requires: Vec<RawRequirement>,
    #[serde(default)]
    claims: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTool {
    name: String,
    description: String,
    input: Option<toml::Table>,
    output: Option<toml::Table>,
    #[serde(default)]
    repeatable: bool,
    timeout: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProvision {
    name: String,
    credential: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRequirement {
    provision: String,
    from: Option<String>,
    #[serde(default)]
    contributes: toml::Table,
}

impl ModuleManifest {
    /// Reads a manifest; `file` is what problems call it.
    ///
    /// # Errors
    /// Every [`Problem`](super::Problem) that could be found, in the file's order.
    pub fn parse(file: &str, text: &str) -> Result<Self, Problems> {
        let (mut checker, raw) = Checker::read::<RawModule>(file, text)?;
        let name: Option<ModuleName> = checker.parsed("name", &raw.name);
        checker.not_empty("version", &raw.version);
        let emits = checker.all_parsed("emits", &raw.emits);
        emitted_subjects_fit(&mut checker, &raw);
        let events = raw.emits.iter().enumerate();
        checker.no_folds(events.map(|(index, name)| (format!("emits[{index}]"), name.clone())));
        let consumes = checker.all_parsed("consumes", &raw.consumes);
        let calls = called_tools(&mut checker, "calls", &raw.calls);
        no_own_tools(&mut checker, &raw);
        let tools = tools(&mut checker, raw.tools);
        let provides = provides(&mut checker, &raw.provides);
        let requires = requires(&mut checker, raw.requires);
        let claims = checker.all_parsed("claims", &raw.claims);
        let source = checker.finish()?;
        // A name that is a mistake has been reported, so `finish` has returned.
        let name = name.ok_or_else(|| Problems::new(Vec::new()))?;
        Ok(Self {
            name,
            version: raw.version,
            emits,
            consumes,
            calls,
            tools,
            provides,
            requires,
            claims,
            source,
        })
    }

    /// The file's name, as it was given to [`parse`](Self::parse).
    #[must_use]
    pub fn file(&self) -> &str {
        self.source.file()
    }

    /// Line and column, in characters, both from 1, of the field at `path`, such as `emits[0]`; of the
    /// nearest around it, where the file does not have it.
    ///
    /// ```
    /// use mesh_core::manifest::ModuleManifest;
    ///
    /// let text = "name = 'mail'\nversion = '1'\nemits = ['sent', 'read']";
    /// let mail = ModuleManifest::parse("mail.toml", text)?;
    /// assert_eq!(mail.place("emits[1]"), (3, 18));
    /// # Ok::<(), mesh_core::manifest::Problems>(())
    /// ```
    #[must_use]
    pub fn place(&self, path: &str) -> (usize, usize) {
        let place = self.source.place(path);
        (place.line, place.column)
    }

    /// A problem of the field at `path`, for whoever finds more wrong with it than the file itself shows.
    #[must_use]
    pub fn problem(&self, severity: Severity, path: &str, kind: ProblemKind) -> Problem {
        self.source.problem(severity, path, kind)
    }

    /// The tool of this name.
    #[must_use]
    pub fn tool(&self, name: &ToolName) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == *name)
    }
}

/// A module's and an event's name can each be legal and their subject too long.
fn emitted_subjects_fit(checker: &mut Checker, raw: &RawModule) {
    for (index, event) in raw.emits.iter().enumerate() {
        let length = "mesh.events.".len() + raw.name.len() + 1 + event.len();
        if length > MAX_SUBJECT_BYTES && EventName::new(event).is_ok() {
            checker.error(&format!("emits[{index}]"), ProblemKind::SubjectTooLong(length));
        }
    }
}

/// References to tools that a module or a person calls.
pub(super) fn called_tools(checker: &mut Checker, path: &str, texts: &[String]) -> Vec<ToolRef> {
    let calls: Vec<ToolRef> = checker.all_parsed(path, texts);
    for (index, text) in texts.iter().enumerate() {
        let tool = text.split_once('.').map_or("", |(_, tool)| tool);
        if is_reserved_tool(tool) {
            let kind = ProblemKind::ControllersTool(tool.to_owned());
            checker.error(&format!("{path}[{index}]"), kind);
        }
    }
    calls
}

/// What a module does itself it needs no call for, and no grant.
fn no_own_tools(checker: &mut Checker, raw: &RawModule) {
    for (index, text) in raw.calls.iter().enumerate() {
        let tool: Option<ToolRef> = text.parse().ok();
        if let Some(own) = tool.filter(|tool| tool.module.as_str() == raw.name) {
            checker.error(&format!("calls[{index}]"), ProblemKind::OwnTool(own));
        }
    }
}

fn tools(checker: &mut Checker, raw: Vec<RawTool>) -> Vec<Tool> {
    let names = raw.iter().map(|tool| tool.name.clone()).enumerate();
    let names: Vec<_> = names.map(|(index, name)| (format!("tools[{index}].name"), name)).collect();
    checker.no_duplicates(names.iter().map(|(path, name)| (path, name)));
    checker.no_folds(names);
    let tools = raw.into_iter().enumerate();
    tools
        .filter_map(|(index, raw)| {
            let at = |field: &str| format!("tools[{index}].{field}");
            let name: Option<ToolName> = checker.parsed(&at("name"), &raw.name);
            if is_reserved_tool(&raw.name) {
                checker.error(&at("name"), ProblemKind::ControllersTool(raw.name.clone()));
            }
            checker.not_empty(&at("description"), &raw.description);
            let input = checker.ok(&at("input"), tool::input_schema(raw.input));
            let output = raw.output.map(tool::json_text).transpose();
            let output = checker.ok(&at("output"), output);
            let timeout = raw.timeout.as_deref().map(tool::timeout).transpose();
            let timeout = checker.ok(&at("timeout"), timeout);
            Some(Tool {
                name: name?,
                description: raw.description,
                input: input?,
                output: output?,
                repeatable: raw.repeatable,
                timeout: timeout?.unwrap_or(tool::DEFAULT_TIMEOUT),
            })
        })
        .collect()
}

fn provides(checker: &mut Checker, raw: &[RawProvision]) -> Vec<Provision> {
    let names = raw.iter().map(|provision| &provision.name).enumerate();
    checker.no_duplicates(names.map(|(index, name)| (format!("provides[{index}].name"), name)));
    let provisions = raw.iter().enumerate();
    provisions
        .filter_map(|(index, raw)| {
            let name = checker.parsed(&format!("provides[{index}].name"), &raw.name);
            let fields = || raw.credential.iter().enumerate();
            let at = |field: usize| format!("provides[{index}].credential[{field}]");
            checker.no_duplicates(fields().map(|(field, name)| (at(field), name)));
            for (field, name) in fields() {
                checker.not_empty(&at(field), name);
            }
            Some(Provision { name: name?, credential: raw.credential.clone() })
        })
        .collect()
}

fn requires(checker: &mut Checker, raw: Vec<RawRequirement>) -> Vec<Requirement> {
    let names: Vec<String> = raw.iter().map(|r| r.provision.clone()).collect();
    let names = names.into_iter().enumerate();
    let at = |index: usize, field: &str| format!("requires[{index}].{field}");
    checker.no_duplicates(names.map(|(index, name)| (at(index, "provision"), name)));
    let requirements = raw.into_iter().enumerate();
    requirements
        .filter_map(|(index, raw)| {
            let provision = checker.parsed(&at(index, "provision"), &raw.provision);
            let from = match &raw.from {
                None => Some(None),
                Some(from) => checker.parsed(&at(index, "from"), from).map(Some),
            };
            let contributes = tool::json_text(raw.contributes);
            let contributes = checker.ok(&at(index, "contributes"), contributes);
            Some(Requirement { provision: provision?, from: from?, contributes: contributes? })
        })
        .collect()
}
