//! However a file comes to be there, or goes (case A12).

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use mesh_control::folder::{Digest, Outcome};

use crate::bed::{Bed, replace};
use crate::people::{layout, with};

const INTERVAL: Duration = Duration::from_millis(500);

#[tokio::test]
async fn of_five_files_in_200_ms_the_fifth_is_live() {
    let base = layout();
    let mut bed = Bed::raise(base.clone(), INTERVAL).await;
    for number in 1..=5 {
        bed.layout = with(&base, if number == 5 { "late" } else { "early" });
        // In place: the file is empty for a moment, then has a part.
        fs::write(bed.site.composed(), bed.site.text(&bed.layout)).unwrap();
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    bed.admitted("late").await;
    let report = bed.judged(Digest::of(bed.site.text(&bed.layout))).await;
    assert_eq!(report.outcome, Outcome::Live);
    assert!(bed.reloads() <= 2, "{}", bed.log());
}

#[tokio::test]
async fn a_file_that_is_renamed_into_place_is_live() {
    let mut bed = Bed::raise(layout(), INTERVAL).await;
    bed.layout = with(&layout_of(&bed), "late");
    replace(&bed.site.composed(), &bed.site.text(&bed.layout));
    bed.admitted("late").await;
}

/// As volumes of Kubernetes are changed: a link to a folder is replaced at once.
#[tokio::test]
async fn a_file_behind_a_link_to_a_folder_that_is_swapped_is_live() {
    let mut bed = Bed::raise(layout(), INTERVAL).await;
    let generation = |name: &str, text: &str| {
        fs::create_dir(bed.file(name)).unwrap();
        fs::write(bed.file(name).join("nats-server.conf"), text).unwrap();
        symlink(name, bed.file("..data.next")).unwrap();
        fs::rename(bed.file("..data.next"), bed.file("..data")).unwrap();
    };
    generation("..first", &bed.site.text(&bed.layout));
    fs::remove_file(bed.site.composed()).unwrap();
    symlink("..data/nats-server.conf", bed.site.composed()).unwrap();

    let next = with(&layout_of(&bed), "late");
    generation("..second", &bed.site.text(&next));
    fs::remove_dir_all(bed.file("..first")).unwrap();
    bed.layout = next;
    bed.admitted("late").await;
}

/// Nothing tells of it: a link in a third folder is swapped. The look in each interval finds it.
#[tokio::test]
async fn a_change_that_no_event_tells_of_is_live_too() {
    let mut bed = Bed::raise(layout(), INTERVAL).await;
    let next = with(&layout_of(&bed), "late");
    let place = bed.site.place.path();
    for (name, layout) in [("a", &bed.layout), ("b", &next)] {
        fs::create_dir(place.join(name)).unwrap();
        fs::write(place.join(name).join("c.conf"), bed.site.text(layout)).unwrap();
    }
    fs::create_dir(place.join("links")).unwrap();
    symlink("../a/c.conf", place.join("links/now")).unwrap();
    symlink(place.join("links/now"), bed.file("link")).unwrap();
    fs::rename(bed.file("link"), bed.site.composed()).unwrap();
    // Taken up by now, and watched where it ends.
    tokio::time::sleep(3 * INTERVAL).await;

    symlink("../b/c.conf", place.join("links/next")).unwrap();
    fs::rename(place.join("links/next"), place.join("links/now")).unwrap();
    bed.layout = next;
    bed.admitted("late").await;
}

#[tokio::test]
async fn a_write_that_was_killed_midway_changes_nothing_and_the_whole_file_after_it_does() {
    let mut bed = Bed::raise(layout(), INTERVAL).await;
    let before = bed.varz().await;
    let next = with(&layout_of(&bed), "late");
    let text = bed.site.text(&next);
    // At every sort of place: within the accounts, after a whole line, and where all that is left is valid.
    let accounts = text.find("accounts {").unwrap();
    for end in [text.len() / 2, accounts, text.find("jetstream").unwrap(), 0] {
        fs::write(bed.site.composed(), &text[..end]).unwrap();
        let report = bed.judged(Digest::of(&text[..end])).await;
        assert_eq!(report.outcome, Outcome::Refused, "{end}: {report:?}");
        assert_eq!(report.digest, before.config_digest);
    }
    assert_eq!(bed.varz().await.config_load_time, before.config_load_time);
    bed.admitted("tool.n1").await;

    fs::write(bed.site.composed(), &text).unwrap();
    bed.layout = next;
    bed.admitted("late").await;
}

#[tokio::test]
async fn a_file_that_is_gone_changes_nothing_and_the_next_one_is_live() {
    let mut bed = Bed::raise(layout(), INTERVAL).await;
    fs::remove_file(bed.site.composed()).unwrap();
    let report = bed.report(|report| report.outcome == Outcome::Missing).await;
    assert_eq!((report.file, report.digest), (None, bed.varz().await.config_digest));
    bed.admitted("tool.n1").await;
    let next = with(&layout_of(&bed), "late");
    bed.write(next);
    bed.admitted("late").await;
}

#[tokio::test]
async fn a_folder_in_the_place_of_the_one_before_is_the_bus_now() {
    let mut bed = Bed::raise(layout(), INTERVAL).await;
    let pid = bed.report(|_| true).await.pid;
    let bus = bed.site.folder.path().to_owned();
    fs::rename(&bus, bed.site.place.path().join("old")).unwrap();
    fs::create_dir(&bus).unwrap();
    let next = with(&layout_of(&bed), "late");
    let file = bed.write(next);
    bed.admitted("late").await;
    let report = bed.judged(file).await;
    assert_eq!((report.outcome, report.pid), (Outcome::Live, pid));
    assert!(bed.site.folder.is_supervised().unwrap());
    assert_eq!(fs::read(bed.file("running.conf")).unwrap(), fs::read(bed.site.composed()).unwrap());
}

fn layout_of(bed: &Bed) -> mesh_testkit::servers::nats::Layout {
    bed.layout.clone()
}
