use super::Breach;

pub(super) const BREACHES: &[Breach] = &[
    ("assert_creates_what_is_missing", "creates nothing"),
    ("assert_twice_changes_nothing", "asserts from scratch"),
    ("assert_twice_changes_nothing", "reports what is the same"),
    ("assert_reports_drift", "overlooks drift"),
    ("assert_reports_drift", "mends what it should report"),
    ("assert_mends_drift", "says that it mended"),
    ("assert_mends_drift", "loses what it mends"),
    ("assert_leaves_strangers_alone", "removes strangers"),
    ("inspect_counts_what_is_stored", "counts nothing"),
    ("inspect_counts_what_a_consumer_owes", "counts no claims"),
    ("retire_removes_a_consumer", "retires every consumer"),
    ("retire_removes_a_consumer", "retires nobody"),
    ("retire_of_an_absent_consumer_is_false", "retires what is absent"),
    ("read_finds_a_sequence", "reads the one after"),
    ("read_finds_the_last_of_a_subject", "reads the first of a subject"),
    ("read_of_nothing_is_none", "reads something for nothing"),
];
