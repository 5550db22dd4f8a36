//! Tenants share tables and nothing else.

use futures::executor::block_on;
use toolgate_fleet::{FleetError, FleetOptions, PostgresJournal};
use toolgate_gate::journal::{ConversationFilter, Entry, Filter, Journal, ReadJournal, Record};
use toolgate_gate::store::{Space, Store};

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

#[test]
fn conversations_and_values_of_one_tenant_are_not_those_of_another() {
    let (a, b) = (
        crate::worker(&crate::fresh_tenant()),
        crate::worker(&crate::fresh_tenant()),
    );
    block_on(a.commit(said("of a"))).unwrap();
    assert_eq!(block_on(b.entries(Filter::default())).unwrap(), []);
    let all = block_on(b.conversations(ConversationFilter::default()));
    assert_eq!(all.unwrap(), []);
    block_on(b.commit(said("of b"))).unwrap();
    assert_eq!(block_on(a.entries(Filter::default())).unwrap().len(), 1);
    let space = Space::new("/w", "memory");
    block_on(a.set(&space, "k", "of a".into())).unwrap();
    assert_eq!(block_on(b.get(&space, "k")).unwrap(), None);
}

/// A query that forgets to name the tenant finds nothing of another, and changes nothing.
#[test]
fn a_query_without_a_tenant_finds_no_rows() {
    let tenant = crate::fresh_tenant();
    let journal = crate::worker(&tenant);
    block_on(journal.commit(said("secret"))).unwrap();
    let socket = Server::shared().socket.display().to_string();
    let count = |set: &str| {
        let sql = format!("{set} SELECT count(*) FROM toolgate_entries");
        let done = std::process::Command::new("psql")
            .args(["-h", &socket, "-U", "toolgate", "-d", "toolgate"])
            .args(["-q", "-t", "-A", "-c", &sql])
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(count(""), "0");
    assert_eq!(count("SET toolgate.tenant = 'nobody';"), "0");
    assert_eq!(count(&format!("SET toolgate.tenant = '{tenant}';")), "1");
}

#[test]
fn names_that_are_no_tenants_are_refused() {
    let address = Server::shared().address();
    for bad in ["", "a'; DROP TABLE toolgate_entries; --", "a b"] {
        let refused = PostgresJournal::connect(&address, FleetOptions::of_tenant(bad));
        assert!(
            matches!(refused, Err(FleetError::Unwritable { .. })),
            "{bad}"
        );
    }
}

#[test]
fn a_newer_schema_is_refused() {
    // A database of its own: the version belongs to the whole database.
    crate::tampered::as_superuser("CREATE DATABASE newer OWNER toolgate");
    let address = Server::shared()
        .address()
        .replace("dbname=toolgate", "dbname=newer");
    drop(PostgresJournal::connect(&address, FleetOptions::default()).unwrap());
    let socket = Server::shared().socket.display().to_string();
    let done = std::process::Command::new("psql")
        .args(["-h", &socket, "-U", "postgres", "-d", "newer", "-q", "-c"])
        .arg("UPDATE toolgate_schema SET version = 99")
        .status()
        .unwrap();
    assert!(done.success());
    let refused = PostgresJournal::connect(&address, FleetOptions::default());
    assert!(matches!(refused, Err(FleetError::Newer { found: 99, .. })));
}
