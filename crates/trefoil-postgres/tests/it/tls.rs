use trefoil_core::{Error, Result};
use trefoil_postgres::PostgresTruth;
use trefoil_store::truth::{Place, Truth};

use crate::database::{Database, variable};

/// Looks at the shard by this name of the host, which leads to this machine.
fn head(database: &Database, host: &str, rest: &str) -> Result<Place> {
    let user = database.url().split_once("://").unwrap().1.split_once('@').unwrap().0.to_owned();
    let name = database.url().rsplit_once('/').unwrap().1.to_owned();
    let port = database.port();
    let url = format!("postgres://{user}@{host}:{port}/{name}?index=notes{rest}");
    PostgresTruth::new(url.parse()?)?.head()
}

#[test]
fn another_machine_is_trusted_only_with_a_certificate_of_its_name() {
    let Some(database) = Database::with_tables() else { return };
    let here = "&hostaddr=127.0.0.1";
    if database.value("SHOW ssl") == "off" {
        // Nothing is said to a server without TLS that is not this machine.
        let error = head(&database, "db.example", here).unwrap_err();
        assert!(matches!(error, Error::Backend { .. }), "{}", error.chain());
        assert!(error.chain().contains("does not support TLS"), "{}", error.chain());
        return;
    }
    let ca = format!("{}/ca.pem", variable("TREFOIL_POSTGRES_FOLDER").unwrap());
    let trusted = format!("{here}&sslrootcert={ca}");
    head(&database, "db.example", &trusted).unwrap();
    head(&database, "db.example", &format!("{trusted}&sslmode=require")).unwrap();
    let untrusted = [
        ("other.example", trusted.as_str(), "other.example"),
        ("db.example", here, "UnknownIssuer"),
        ("localhost", &trusted, "localhost"),
        ("127.0.0.1", &trusted, "127.0.0.1"),
    ];
    for (host, rest, why) in untrusted {
        let error = head(&database, host, rest).unwrap_err();
        assert!(matches!(error, Error::Backend { .. }), "{host}: {}", error.chain());
        assert!(error.chain().contains(why), "{}", error.chain());
    }
    for file in ["/nowhere.pem", "/etc/hostname"] {
        let error = head(&database, "db.example", &format!("{here}&sslrootcert={file}"));
        let error = error.unwrap_err();
        assert!(matches!(error, Error::UnreadableDocument { .. }), "{}", error.chain());
    }
}

#[test]
fn the_password_is_checked_and_never_repeated() {
    let Some(database) = Database::with_tables() else { return };
    let url = database.url().replace("clover", "hunter2");
    let truth = PostgresTruth::new(format!("{url}?index=notes").parse().unwrap()).unwrap();
    let error = truth.head().unwrap_err();
    assert!(matches!(error, Error::Backend { .. }), "{}", error.chain());
    let said = format!("{} {error:?} {truth:?}", error.chain());
    assert!(said.contains("password authentication failed"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}
