use std::os::unix::fs::PermissionsExt as _;

use mesh_core::time::Timestamp;

use super::*;

fn folder() -> (tempfile::TempDir, BusFolder) {
    let place = tempfile::tempdir().unwrap();
    let bus = BusFolder::at(place.path().join("bus"));
    (place, bus)
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_file_is_written_for_this_user_alone_and_nothing_is_left_beside_it() {
    let (_place, bus) = folder();
    assert!(bus.write("a: 1\n").unwrap().changed);
    assert!(bus.write("a: 2\n").unwrap().changed);
    assert_eq!(bus.read().unwrap().as_deref(), Some(&b"a: 2\n"[..]));
    assert_eq!(mode_of(&bus.composed_file()), 0o600);
    assert_eq!(mode_of(bus.path()), 0o700);
    assert_eq!(fs::read_dir(bus.path()).unwrap().count(), 1);
}

#[test]
fn a_group_that_could_read_the_file_still_can_and_everybody_else_no_more() {
    let (_place, bus) = folder();
    bus.write("a: 1\n").unwrap();
    fs::set_permissions(bus.composed_file(), fs::Permissions::from_mode(0o644)).unwrap();
    bus.write("a: 2\n").unwrap();
    assert_eq!(mode_of(&bus.composed_file()), 0o640);
}

#[test]
fn the_same_text_is_not_written_again() {
    let (_place, bus) = folder();
    let first = bus.write("a: 1\n").unwrap();
    let written = fs::metadata(bus.composed_file()).unwrap().modified().unwrap();
    assert_eq!(bus.write("a: 1\n").unwrap(), Written { changed: false, ..first });
    assert_eq!(fs::metadata(bus.composed_file()).unwrap().modified().unwrap(), written);
}

#[test]
fn a_report_comes_back_as_it_was_told() {
    let (_place, bus) = folder();
    assert_eq!(bus.report().unwrap(), None);
    let digest = bus.write("a: 1\n").unwrap().digest;
    let at = Timestamp::from_millis(1_767_225_600_123);
    let mut report = ReloadReport::new(at, Outcome::NeedsRestart, Some(digest));
    report.error = Some("port".to_owned());
    report.monitor = Some(([127, 0, 0, 1], 8222).into());
    bus.tell(&report).unwrap();
    assert_eq!(bus.report().unwrap(), Some(report));
    let text = fs::read_to_string(bus.report_file()).unwrap();
    assert!(text.contains(r#""outcome":"needs-restart""#), "{text}");
    assert!(text.contains(r#""at":"2026-01-01T00:00:00.123Z""#), "{text}");
}

#[test]
fn a_report_of_another_shape_is_an_error_that_names_the_file() {
    let (_place, bus) = folder();
    bus.write("a: 1\n").unwrap();
    fs::write(bus.report_file(), "{}").unwrap();
    let told = bus.report().unwrap_err().to_string();
    assert!(told.contains("reload.json") && told.contains("no report"), "{told}");
}

#[test]
fn who_waits_hears_of_its_own_file_of_another_in_its_place_and_of_no_supervisor() {
    let (_place, bus) = folder();
    let digest = bus.write("a: 1\n").unwrap().digest;
    let wait = |digest| bus.wait(digest, Duration::ZERO).unwrap();
    assert_eq!(wait(digest), Awaited::Unsupervised);

    let lock = File::create(bus.lock_file()).unwrap();
    lock.lock().unwrap();
    assert_eq!(wait(digest), Awaited::Silence);
    let report = ReloadReport::new(Timestamp::from_millis(0), Outcome::Live, Some(digest));
    bus.tell(&report).unwrap();
    assert_eq!(wait(digest), Awaited::Judged(Box::new(report)));
    assert_eq!(wait(Digest::of("another")), Awaited::Replaced);
}

/// `bus run` looked at a pipe, and heard nothing else any more: not that its server ended, and no order to end.
#[test]
fn a_pipe_in_a_files_place_is_refused_and_not_waited_for() {
    let (_place, bus) = folder();
    bus.write("a: 1\n").unwrap();
    for file in [bus.composed_file(), bus.report_file()] {
        drop(fs::remove_file(&file));
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    }
    let told = [bus.read().unwrap_err().to_string(), bus.report().unwrap_err().to_string()];
    assert!(told.iter().all(|told| told.contains("no file")), "{told:?}");
    assert!(bus.write("a: 2\n").unwrap().changed);
    assert_eq!(bus.read().unwrap().as_deref(), Some(&b"a: 2\n"[..]));
}

/// A revoked user was let in by it, and whoever had revoked was told that no server runs.
#[test]
fn a_server_whose_supervisor_was_killed_is_told_and_is_not_no_server() {
    let (_place, bus) = folder();
    let digest = bus.write("a: 1\n").unwrap().digest;
    let server = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut report = ReloadReport::new(Timestamp::from_millis(0), Outcome::Live, Some(digest));
    report.monitor = Some(server.local_addr().unwrap());
    (report.digest, report.pid) = (Some(Digest::of("what it runs with")), Some(7));
    bus.tell(&report).unwrap();
    let answers = thread::spawn(move || {
        for told in [Digest::of("what it runs with"), Digest::of("what another runs with")] {
            let (mut client, _) = server.accept().unwrap();
            let mut asked = [0; 4096];
            let _ = client.read(&mut asked).unwrap();
            let answer = format!("HTTP/1.0 200 OK\r\n\r\n{{\"config_digest\": \"{told}\"}}");
            client.write_all(answer.as_bytes()).unwrap();
        }
    });
    let wait = || bus.wait(Digest::of("b: 1\n"), Duration::ZERO).unwrap();
    assert_eq!(wait(), Awaited::LeftAlone(Some(7)));
    assert_eq!(wait(), Awaited::Unsupervised);
    answers.join().unwrap();
    assert_eq!(wait(), Awaited::Unsupervised);
}
