//! A file whose last writes did not all reach the disk.

use super::*;

#[tokio::test]
async fn a_log_that_ends_anywhere_holds_what_was_written_before() {
    const EVENTS: usize = 40;
    let bed = Bed::new();
    let store = bed.open().await;
    for number in 0..EVENTS {
        handle(&store, number).await;
    }
    let log = bed.folder.path().join("store-wal");
    let (file, written) = (bytes(&bed.path()), bytes(&log));
    let mut most = 0;
    for cut in (0..=40).map(|part| written.len() * part / 40) {
        for torn in [false, true] {
            // As if the machine had stopped: the rest is missing, or is what stood there before.
            let mut left = written[..cut].to_vec();
            if torn {
                left.resize(written.len(), 0x5a);
            }
            let other = Bed::new();
            std::fs::write(other.path(), &file).unwrap();
            std::fs::write(other.folder.path().join("store-wal"), left).unwrap();
            let store = other.open().await;
            let mut handled = 0;
            while handled < EVENTS && known(&store, handled).await == Handled::Yes {
                handled += 1;
            }
            for later in handled + 1..EVENTS {
                assert_eq!(known(&store, later).await, Handled::No, "cut at {cut}: {later}");
            }
            most = most.max(handled);
        }
    }
    assert_eq!(most, EVENTS);
}
