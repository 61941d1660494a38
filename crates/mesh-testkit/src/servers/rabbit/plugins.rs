//! Which of an installation's plugins a node with the management API needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is wanted, and what some of them use without saying so, as far as it is there.
const ROOTS: &[&str] =
    &["rabbit", "rabbitmq_management", "rabbitmq_prelaunch", "accept", "base64url", "getopt"];

/// The folders of the needed plugins; all of them, where it can't be told.
pub(super) fn needed(plugins: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(plugins)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = name.split_once('-').map_or(name.as_str(), |(name, _)| name).to_owned();
        all.insert(name, path);
    }
    let mut needed = BTreeSet::new();
    let mut asked: Vec<String> = ROOTS.iter().map(|name| (*name).to_owned()).collect();
    while let Some(name) = asked.pop() {
        let Some(folder) = all.get(&name).filter(|_| needed.insert(name.clone())) else {
            continue;
        };
        match fs::read_to_string(folder.join("ebin").join(format!("{name}.app"))) {
            Ok(text) => asked.extend(applications(&text)),
            // An archive: nothing is known of it.
            Err(_) => return Ok(all.into_values().collect()),
        }
    }
    Ok(all.into_iter().filter(|(name, _)| needed.contains(name)).map(|(_, path)| path).collect())
}

/// The words in each list of applications of an `.app` file.
fn applications(text: &str) -> Vec<String> {
    let lists = text.split("applications").skip(1).filter_map(|rest| {
        let list = rest.trim_start_matches([',', '\'', ' ', '\n', '\r', '\t']).strip_prefix('[')?;
        list.split_once(']')
    });
    let words =
        lists.flat_map(|(list, _)| list.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_applications_are_read() {
        let app = "{application, 'a', [{description, \"applications of all kinds\"},\n\
                   {applications,\n [kernel,'b_c',d2]},\n{optional_applications, [e]},{mod,{x,[]}}]}.";
        assert_eq!(applications(app), ["kernel", "b_c", "d2", "e"]);
    }

    #[test]
    fn what_the_needed_need_is_needed_and_an_archive_makes_it_all() {
        let folder = tempfile::tempdir().unwrap();
        let plugin = |name: &str, needs: &str| {
            let ebin = folder.path().join(format!("{name}-1.0/ebin"));
            fs::create_dir_all(&ebin).unwrap();
            let text = format!("{{application,{name},[{{applications,[{needs}]}}]}}.");
            fs::write(ebin.join(format!("{name}.app")), text).unwrap();
        };
        plugin("rabbit", "kernel,ra");
        plugin("ra", "aten, rabbit");
        plugin("aten", "");
        plugin("rabbitmq_mqtt", "rabbit");
        let names = || -> Vec<_> {
            let found = needed(folder.path()).unwrap();
            found.iter().map(|path| path.file_name().unwrap().to_owned()).collect()
        };
        assert_eq!(names(), ["aten-1.0", "ra-1.0", "rabbit-1.0"]);
        fs::write(folder.path().join("rabbitmq_management-1.0.ez"), "").unwrap();
        assert_eq!(names().len(), 5);
    }
}
