//! Who emits what and who consumes it, over all modules.

use std::collections::HashMap;

use super::resolve::{error, warning};
use super::{AssignedModule, EventPattern, Mesh, Problem, ProblemKind};
use crate::index::FilterIndex;
use crate::subject::{Filter, MAX_SUBJECT_BYTES, Subject};

/// All who have one filter among their patterns. Many have the same: each event is compared with a filter
/// once, and not with every reader of it.
#[derive(Default)]
struct Wanted {
    met: bool,
    /// The bytes of the longest consumer among them, `<node>_<module>`; nothing, where none runs.
    longest: Option<usize>,
}

impl Mesh {
    /// Looks each event up among all patterns at once: files may have ten thousands of either.
    pub(super) fn check_events(&self, problems: &mut Vec<Problem>) {
        let mut numbers: HashMap<&Filter, usize> = HashMap::new();
        let mut wanted: Vec<Wanted> = Vec::new();
        for module in self.modules() {
            let longest = longest(module);
            for filter in module.manifest.consumes.iter().flat_map(EventPattern::filters) {
                let number = *numbers.entry(filter).or_insert(wanted.len());
                if number == wanted.len() {
                    wanted.push(Wanted::default());
                }
                wanted[number].longest = wanted[number].longest.max(longest);
            }
        }
        let mut index = FilterIndex::new();
        for (filter, number) in &numbers {
            // An index has room for far more than files can hold.
            let _ = index.add(filter, *number);
        }
        for module in self.modules() {
            let manifest = &module.manifest;
            for (number, event) in manifest.emits.iter().enumerate() {
                let Ok(subject) = Subject::new(format!("{}.{event}", manifest.name)) else {
                    continue;
                };
                let (mut consumed, mut longest) = (false, None);
                index.for_each_match(&subject, |&number| {
                    consumed = true;
                    wanted[number].met = true;
                    longest = longest.max(wanted[number].longest);
                });
                let field = || format!("emits[{number}]");
                // A dead letter goes back on `mesh.replay.<node>_<module>.<its module>.<its event>`.
                let length = longest.map(|consumer| {
                    "mesh.replay.".len() + consumer + ".".len() + subject.as_str().len()
                });
                if let Some(length) = length.filter(|length| *length > MAX_SUBJECT_BYTES) {
                    problems.push(error(manifest, &field(), ProblemKind::SubjectTooLong(length)));
                }
                if !consumed {
                    let kind = ProblemKind::NobodyConsumes(event.clone());
                    problems.push(warning(manifest, &field(), kind));
                }
            }
        }
        for manifest in self.modules().map(|module| &module.manifest) {
            for (number, pattern) in manifest.consumes.iter().enumerate() {
                let met = |filter| numbers.get(filter).is_some_and(|at| wanted[*at].met);
                if !pattern.filters().iter().any(met) {
                    let kind = ProblemKind::NobodyEmits(pattern.clone());
                    problems.push(warning(manifest, &format!("consumes[{number}]"), kind));
                }
            }
        }
    }
}

/// The bytes of the module's longest consumer.
fn longest(module: &AssignedModule) -> Option<usize> {
    let node = module.nodes.iter().map(|node| node.as_str().len()).max();
    node.map(|node| node + "_".len() + module.manifest.name.as_str().len())
}
