//! Seats: each has one holder in a mesh, one module on one node.

use std::collections::BTreeMap;

use super::source::Source;
use super::{Mesh, MeshFile, Problem, ProblemKind, Severity};
use crate::identity::Instance;
use crate::name::SeatName;

/// Who has a seat, and where that is said.
struct Held {
    by: String,
    at: String,
}

impl Mesh {
    /// Who has this seat: a module that claims it, on the node that runs it. A module that runs nowhere has
    /// none.
    ///
    /// ```
    /// use mesh_core::manifest::{Mesh, ModuleManifest};
    /// use mesh_core::name::SeatName;
    ///
    /// let nats = "name = 'nats'\nversion = '1'\nclaims = ['mesh-broker']";
    /// let mesh = Mesh::on_one_node(&"n1".parse()?, [ModuleManifest::parse("nats.toml", nats)?])?;
    /// let holder = mesh.holder_of(&SeatName::broker()).unwrap();
    /// assert_eq!((holder.module.as_str(), holder.node.as_str()), ("nats", "n1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn holder_of(&self, seat: &SeatName) -> Option<Instance> {
        let claiming = self.modules().filter(|module| module.manifest.claims.contains(seat));
        let mut holders = claiming.filter_map(|module| {
            let node = module.nodes.first()?.clone();
            Some(Instance { node, module: module.manifest.name.clone() })
        });
        holders.next()
    }

    /// Modules in the order of their names, and each one's nodes in the file's: the first has the seat.
    pub(super) fn check_seats(&self, file: &MeshFile, problems: &mut Vec<Problem>) {
        let mut held: BTreeMap<SeatName, Held> = BTreeMap::new();
        for module in self.modules() {
            let manifest = &module.manifest;
            let Some(node) = module.nodes.first() else { continue };
            for (index, seat) in manifest.claims.iter().enumerate() {
                let field = format!("claims[{index}]");
                if let Some(Held { by, at }) = held.get(seat) {
                    let (by, earlier) = (by.clone(), at.clone());
                    let kind = ProblemKind::SeatTaken { seat: seat.clone(), by, earlier };
                    problems.push(manifest.source.problem(Severity::Error, &field, kind));
                    continue;
                }
                let by = format!("{} on {node}", manifest.name);
                held.insert(seat.clone(), Held { by, at: told(&manifest.source, &field) });
            }
        }
        self.check_nodes_of_seats(file, problems);
    }

    /// A module that has a seat has it on one node.
    fn check_nodes_of_seats(&self, file: &MeshFile, problems: &mut Vec<Problem>) {
        for (index, assignment) in file.assignments.iter().enumerate() {
            let Some(module) = self.module(&assignment.module) else { continue };
            let Some(seat) = module.manifest.claims.first() else { continue };
            for (number, _) in assignment.nodes.iter().enumerate().skip(1) {
                let at = |number: usize| format!("assignments[{index}].nodes[{number}]");
                let kind = ProblemKind::SeatTaken {
                    seat: seat.clone(),
                    by: format!("{} on {}", assignment.module, assignment.nodes[0]),
                    earlier: told(&file.source, &at(0)),
                };
                problems.push(file.source.problem(Severity::Error, &at(number), kind));
            }
        }
    }
}

/// The place of a field, as problems show it.
fn told(source: &Source, field: &str) -> String {
    let place = source.place(field);
    format!("{}:{}:{}", source.file(), place.line, place.column)
}
