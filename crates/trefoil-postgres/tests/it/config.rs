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
