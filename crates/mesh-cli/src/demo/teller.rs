//! Whom the story is told to: people, or programs.

use std::io::{self, Write};

use mesh_core::manifest::{Access, Mesh};
use mesh_sdk::Closed;
use serde::Serialize;

use super::flow::FlowResult;
use super::ground::Ground;
use super::story;
use crate::shell::json;

/// What each line of JSON is, and which version of it.
const SCHEMA: &str = "mesh.demo/1";

/// Writes the story as it goes.
#[derive(Debug)]
pub(crate) struct Teller<'w, W> {
    out: &'w mut W,
    json: bool,
}

/// A line for programs, by the keys that the README lists.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Line<'a> {
    Opening {
        place: String,
        about: Option<&'a str>,
        nodes: Vec<&'a str>,
        modules: Vec<Module<'a>>,
        people: Vec<Person<'a>>,
        warnings: Vec<String>,
    },
    Flow {
        name: &'a str,
        title: &'a str,
        about: &'a str,
        as_computed: bool,
        steps: Vec<Step<'a>>,
        not_tried: Option<&'a str>,
    },
    Summary {
        good: bool,
        steps: usize,
        as_computed: Vec<&'a str>,
        otherwise: Vec<&'a str>,
        not_tried: Vec<&'a str>,
        given_back: u64,
        lost: u64,
        overdue: bool,
        left: Option<&'a str>,
    },
}

#[derive(Debug, Serialize)]
struct Module<'a> {
    name: &'a str,
    nodes: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
struct Person<'a> {
    name: &'a str,
    administrator: bool,
    tools: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Step<'a> {
    what: &'a str,
    expected: &'a str,
    found: &'a str,
    as_computed: bool,
}

impl<'w, W: Write> Teller<'w, W> {
    pub(crate) fn new(out: &'w mut W, json: bool) -> Self {
        Self { out, json }
    }

    pub(super) fn opening(&mut self, mesh: &Mesh, ground: &dyn Ground) -> io::Result<()> {
        if !self.json {
            return story::opening(self.out, mesh, ground);
        }
        let modules = mesh.modules().map(|module| Module {
            name: module.manifest.name.as_str(),
            nodes: module.nodes.iter().map(|node| node.as_str()).collect(),
        });
        let people = mesh.people().map(|(name, access)| Person {
            name: name.as_str(),
            administrator: *access == Access::Administrator,
            tools: match access {
                Access::Administrator => Vec::new(),
                Access::Tools(tools) => tools.iter().map(ToString::to_string).collect(),
            },
        });
        self.line(&Line::Opening {
            place: ground.place(),
            about: ground.about(),
            nodes: mesh.nodes().iter().map(|node| node.as_str()).collect(),
            modules: modules.collect(),
            people: people.collect(),
            warnings: mesh.warnings().iter().map(ToString::to_string).collect(),
        })
    }

    pub(super) fn flow(&mut self, result: &FlowResult) -> io::Result<()> {
        if !self.json {
            return story::flow(self.out, result);
        }
        let steps = result.steps.iter().map(|step| Step {
            what: &step.what,
            expected: &step.expected,
            found: &step.found,
            as_computed: step.is_as_expected(),
        });
        self.line(&Line::Flow {
            name: result.name.word(),
            title: result.name.title(),
            about: &result.about,
            as_computed: result.is_as_expected(),
            steps: steps.collect(),
            not_tried: result.missing,
        })
    }

    pub(super) fn summary(
        &mut self,
        results: &[FlowResult],
        closed: &Closed,
        left: Option<&str>,
    ) -> io::Result<()> {
        if !self.json {
            return story::summary(self.out, results, closed, left);
        }
        let named = |which: fn(&FlowResult) -> bool| {
            let found = results.iter().filter(|result| which(result));
            found.map(|result| result.name.word()).collect::<Vec<_>>()
        };
        let otherwise = named(|result| !result.is_as_expected());
        self.line(&Line::Summary {
            good: otherwise.is_empty(),
            steps: results.iter().map(|result| result.steps.len()).sum(),
            as_computed: named(|result| !result.steps.is_empty() && result.is_as_expected()),
            otherwise,
            not_tried: named(|result| result.steps.is_empty()),
            given_back: closed.released,
            lost: closed.lost,
            overdue: closed.overdue,
            left,
        })
    }

    fn line(&mut self, line: &Line<'_>) -> io::Result<()> {
        self.out.write_all(json::line(SCHEMA, line)?.as_bytes())
    }
}
