//! Who emits what and who consumes it, over all modules.

use super::resolve::{error, warning};
use super::{AssignedModule, Mesh, Problem, ProblemKind};
use crate::index::FilterIndex;
use crate::subject::{MAX_SUBJECT_BYTES, Subject};

/// A module that consumes, and which of its patterns some event matches.
struct Reader<'m> {
    module: &'m AssignedModule,
    met: Vec<bool>,
    /// The bytes of its longest consumer, `<node>_<module>`; nothing, where it runs nowhere.
    longest: Option<usize>,
}

impl Mesh {
    /// Looks each event up among all patterns at once: files may have ten thousands of either.
    pub(super) fn check_events(&self, problems: &mut Vec<Problem>) {
        let mut readers: Vec<Reader<'_>> = self.modules().map(reader).collect();
        let mut index = FilterIndex::new();
        for (at, reader) in readers.iter().enumerate() {
            for (number, pattern) in reader.module.manifest.consumes.iter().enumerate() {
                for filter in pattern.filters() {
                    // An index has room for far more than files can hold.
                    let _ = index.add(filter, (at, number));
                }
            }
        }
        for module in self.modules() {
            let manifest = &module.manifest;
            for (number, event) in manifest.emits.iter().enumerate() {
                let Ok(subject) = Subject::new(format!("{}.{event}", manifest.name)) else {
                    continue;
                };
                let (mut consumed, mut longest) = (false, None);
                index.for_each_match(&subject, |&(at, number)| {
                    consumed = true;
                    readers[at].met[number] = true;
                    longest = longest.max(readers[at].longest);
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
        for reader in &readers {
            for (number, _) in reader.met.iter().enumerate().filter(|(_, met)| !**met) {
                let field = format!("consumes[{number}]");
                let manifest = &reader.module.manifest;
                let kind = ProblemKind::NobodyEmits(manifest.consumes[number].clone());
                problems.push(warning(manifest, &field, kind));
            }
        }
    }
}

fn reader(module: &AssignedModule) -> Reader<'_> {
    let node = module.nodes.iter().map(|node| node.as_str().len()).max();
    Reader {
        met: vec![false; module.manifest.consumes.len()],
        longest: node.map(|node| node + "_".len() + module.manifest.name.as_str().len()),
        module,
    }
}
