use trefoil_core::{Error, Result};
use trefoil_postgres::PostgresConfig;

fn parse(url: &str) -> Result<PostgresConfig> {
    url.parse()
}

#[test]
fn nothing_that_is_shown_has_the_password() {
    let config = parse("postgres://ada:hunter2@db.example/app?index=notes").unwrap();
    assert!(!format!("{config:?} {config}").contains("hunter2"));
    let wrong = [
        "postgres://ada:hunter2@db.example/app",
        "postgres://ada:hunter2@db.example/?index=notes",
        "postgres://ada:hunter2@db.example/app?index=no/tes",
        "postgres://ada:hunter2@db.example/app?index=notes&part=x",
        "postgres://ada:hunter2@db.example/app?index=notes&sslmode=disable",
        "postgres://ada:hunter2@db.example/app?index=notes&sslmode=maybe",
        "postgres://ada:hunter2@db.example:port/app?index=notes",
        "postgres://ada:hunter2@db.example/app?index=notes&colour=red",
        "mysql://ada:hunter2@db.example/app?index=notes",
    ];
    for url in wrong {
        let error = parse(url).unwrap_err();
        assert!(matches!(error, Error::InvalidConfig { .. }), "{error}");
        assert!(!format!("{error:?} {}", error.chain()).contains("hunter2"), "{error}");
    }
}

#[test]
fn only_this_machine_is_spoken_to_without_tls() {
    let tls = |rest: &str| parse(&format!("postgres://{rest}")).unwrap().uses_tls();
    assert!(!tls("localhost/app?index=n"));
    assert!(!tls("127.0.0.1/app?index=n"));
    assert!(!tls("[::1]/app?index=n"));
    assert!(!tls("%2Ftmp/app?index=n"));
    assert!(!tls("localhost/app?index=n&sslmode=prefer"));
    assert!(tls("localhost/app?index=n&sslmode=require"));
    assert!(tls("localhost/app?index=n&sslrootcert=/ca.pem"));
    assert!(tls("db.example/app?index=n"));
    assert!(tls("localhost,db.example/app?index=n"));
    assert!(tls("localhost/app?index=n&hostaddr=192.0.2.1"));
    assert!(tls("db.example/app?index=n&hostaddr=127.0.0.1"));
    assert!(tls("127.0.0.1.example/app?index=n"));
}
