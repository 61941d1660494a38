//! What can be told of a file although it has mistakes.

use toml::de::{DeTable, DeValue};

use super::{MAX_FILE_BYTES, MeshFile, ModuleManifest};

/// Which of the two files a text is. Exhaustive on purpose: a mesh has no third kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A mesh file, which a [`MeshFile`] reads.
    Mesh,
    /// A module's manifest, which a [`ModuleManifest`] reads.
    Module,
}

impl FileKind {
    /// By the keys at its top, mistaken as the rest may be: a mesh file has `nodes` or `assignments`, a
    /// manifest two or more of its own. Nothing, where it looks like neither.
    ///
    /// ```
    /// use mesh_core::manifest::FileKind;
    ///
    /// assert_eq!(FileKind::of("nodes = ["), Some(FileKind::Mesh));
    /// assert_eq!(FileKind::of("nam = 'mail'\nversion = 1\nemits = []"), Some(FileKind::Module));
    /// assert_eq!(FileKind::of("[package]\nname = 'mail'\nversion = '1'"), None);
    /// ```
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        const MODULE: [&str; 9] = [
            "name", "version", "emits", "consumes", "calls", "tools", "provides", "requires",
            "claims",
        ];
        let table = sketch(text);
        if table.contains_key("nodes") || table.contains_key("assignments") {
            return Some(Self::Mesh);
        }
        let keys = MODULE.iter().filter(|key| table.contains_key(**key)).count();
        (keys >= 2).then_some(Self::Module)
    }
}

impl MeshFile {
    /// The manifests that the text of a mesh file names, in its order, although
    /// [`parse`](Self::parse) may refuse it.
    #[must_use]
    pub fn manifests_named(text: &str) -> Vec<String> {
        let table = sketch(text);
        let assignments = table.get("assignments").and_then(|value| value.get_ref().as_array());
        let manifests =
            assignments.into_iter().flatten().filter_map(|assignment| {
                match assignment.get_ref().as_table()?.get("manifest")?.get_ref() {
                    DeValue::String(manifest) => Some(manifest.clone().into_owned()),
                    _ => None,
                }
            });
        manifests.collect()
    }
}

impl ModuleManifest {
    /// What the text of a manifest says that its module is called, although [`parse`](Self::parse) may
    /// refuse it, the name itself included.
    #[must_use]
    pub fn name_in(text: &str) -> Option<String> {
        match sketch(text).get("name")?.get_ref() {
            DeValue::String(name) => Some(name.clone().into_owned()),
            _ => None,
        }
    }
}

/// What is at the top, as far as it is TOML.
fn sketch(text: &str) -> DeTable<'_> {
    let (table, _) = DeTable::parse_recoverable(&text[..text.floor_char_boundary(MAX_FILE_BYTES)]);
    table.into_inner()
}
