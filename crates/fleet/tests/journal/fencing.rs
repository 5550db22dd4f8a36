//! A worker that was frozen, cut off or killed.

use std::time::{Duration, Instant};

use futures::executor::block_on;
use toolgate_fleet::{FleetOptions, PostgresJournal};
use toolgate_gate::journal::{
    Entry, Filter, Journal, JournalErrorKind, LeaseJournal, ReadJournal, Record, VerifyJournal,
};

use crate::proxy::Proxy;
use crate::server::Server;

fn said(text: &str) -> Vec<Entry> {
    let record = Record::UserMessage { text: text.into() };
    vec![Entry {
        conversation: "c".into(),
        call: "".into(),
        at_ms: 1,
        record,
    }]
}

fn with_lease(tenant: &str, lease: Duration) -> PostgresJournal {
    let mut options = FleetOptions::of_tenant(tenant);
    options.lease = lease;
    PostgresJournal::connect(&Server::shared().address(), options).unwrap()
}

/// As the database would see a worker that gives no sign: its row is dead.
fn freeze_all(tenant: &str) {
    let sql = format!(
        "UPDATE toolgate_workers SET alive_until = clock_timestamp() - interval '1 s'
         WHERE token IN (SELECT holder FROM toolgate_conversations WHERE tenant = '{tenant}')"
    );
    crate::tampered::as_superuser(&sql);
}

/// Waits until a try succeeds.
fn in_time<T>(mut try_it: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(done) = try_it() {
            return done;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "it never came");
        std::thread::yield_now();
    }
}

#[test]
fn a_frozen_worker_that_wakes_up_late_writes_nothing() {
    let tenant = crate::fresh_tenant();
    let (frozen, other) = (crate::worker(&tenant), crate::worker(&tenant));
    block_on(frozen.commit(said("before"))).unwrap();
    let refused = block_on(other.commit(said("too early"))).unwrap_err();
    assert_eq!(refused.kind, JournalErrorKind::InUse, "{refused}");
    freeze_all(&tenant);
    block_on(other.commit(said("taken over"))).unwrap();
    for late in ["late", "later"] {
        let refused = block_on(frozen.commit(said(late))).unwrap_err();
        assert_eq!(refused.kind, JournalErrorKind::InUse, "{refused}");
    }
    // Neither does one whose conversation nobody took meanwhile.
    let alone = crate::fresh_tenant();
    let frozen = crate::worker(&alone);
    block_on(frozen.commit(said("before"))).unwrap();
    freeze_all(&alone);
    let refused = block_on(frozen.commit(said("late"))).unwrap_err();
    assert_eq!(refused.kind, JournalErrorKind::InUse, "{refused}");
    let lines = block_on(other.entries(Filter::of(&"c".into()))).unwrap();
    assert_eq!(lines.len(), 2);
    assert!(block_on(other.verify(None)).unwrap().is_sound());
}

/// Cut off, as by a network that fails: the other one waits for the lease and for nothing else.
#[test]
fn the_lease_of_a_worker_that_is_cut_off_runs_out() {
    let tenant = crate::fresh_tenant();
    let proxy = Proxy::start(Server::shared());
    let mut options = FleetOptions::of_tenant(&tenant);
    options.lease = Duration::from_millis(600);
    let cut_off = PostgresJournal::connect(&proxy.address(), options).unwrap();
    let other = crate::worker(&tenant);
    block_on(cut_off.commit(said("before"))).unwrap();
    let refused = block_on(other.commit(said("too early"))).unwrap_err();
    assert_eq!(refused.kind, JournalErrorKind::InUse, "{refused}");
    proxy.is_dead(true);
    let failed = block_on(cut_off.commit(said("into nothing"))).unwrap_err();
    assert!(
        matches!(
            failed.kind,
            JournalErrorKind::NotWritten | JournalErrorKind::Unknown
        ),
        "{failed}"
    );
    in_time(|| block_on(other.commit(said("taken over"))).ok());
    proxy.is_dead(false);
    in_time(|| {
        let refused = block_on(cut_off.commit(said("late"))).unwrap_err();
        (refused.kind == JournalErrorKind::InUse).then_some(())
    });
    let lines = block_on(other.entries(Filter::of(&"c".into()))).unwrap();
    assert_eq!(lines.len(), 2);
}

#[test]
fn a_worker_that_lives_keeps_its_conversations_for_longer_than_a_lease() {
    let tenant = crate::fresh_tenant();
    let lease = Duration::from_millis(400);
    let (holder, other) = (with_lease(&tenant, lease), crate::worker(&tenant));
    block_on(holder.commit(said("before"))).unwrap();
    let begun = Instant::now();
    while begun.elapsed() < 3 * lease {
        let refused = block_on(other.begin(&"c".into(), None)).unwrap_err();
        assert_eq!(refused.kind, JournalErrorKind::InUse);
    }
    block_on(holder.commit(said("after"))).unwrap();
}

#[test]
fn a_conversation_that_was_lost_can_be_opened_anew() {
    let tenant = crate::fresh_tenant();
    let (one, two) = (crate::worker(&tenant), crate::worker(&tenant));
    block_on(one.commit(said("before"))).unwrap();
    crate::tampered::as_superuser(&format!(
        "UPDATE toolgate_conversations SET holder = NULL WHERE tenant = '{tenant}'"
    ));
    block_on(two.commit(said("of two"))).unwrap();
    block_on(two.release(&"c".into())).unwrap();
    let lost = block_on(one.commit(said("late"))).unwrap_err();
    assert_eq!(lost.kind, JournalErrorKind::InUse);
    block_on(one.begin(&"c".into(), None)).unwrap();
    block_on(one.commit(said("anew"))).unwrap();
    assert!(block_on(one.verify(None)).unwrap().is_sound());
}
