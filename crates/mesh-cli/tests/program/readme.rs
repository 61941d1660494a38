//! The README's files are files that the program takes.

use super::{Folder, mesh, text};

const README: &str = include_str!("../../README.md");

#[test]
fn the_readmes_mesh_runs_and_every_flow_but_one_is_in_it() {
    let folder = Folder::new("readme");
    let mut files = Vec::new();
    for block in README.split("```toml\n# ").skip(1) {
        let block = block.split("```").next().unwrap();
        let (name, file) = block.split_once('\n').unwrap();
        files.push(folder.write(name, file));
    }
    assert_eq!(files.len(), 3);
    let run = mesh(&["demo", "--mesh", &files[0]]);
    let story = text(&run.stdout);
    assert_eq!(run.status.code(), Some(0), "{story}{}", text(&run.stderr));
    assert!(
        story.contains("11 as computed from the files, 0 otherwise, 1 not in this mesh"),
        "{story}"
    );
    assert!(
        story.contains("- ben calls stock.count: answered by stock.count (caller: ben)"),
        "{story}"
    );
}

#[test]
fn the_readme_names_every_flow_that_can_be_broken() {
    let help = text(&mesh(&["demo", "--help"]).stdout);
    let broken = help.split("--break").nth(1).unwrap().split("--transport").next().unwrap();
    let flows: Vec<&str> = broken
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ")?.split_once(':').map(|(flow, _)| flow))
        .collect();
    assert_eq!(flows.len(), 12, "{help}");
    for flow in flows {
        assert!(README.contains(&format!("`{flow}`")), "{flow}");
    }
}
