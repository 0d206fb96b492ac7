//! A way to the database on which connections are cut.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// What happens to what a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// It arrives.
    Pass,
    /// The next COMMIT does not arrive, and both ends see the connection closed.
    CutBeforeCommit,
    /// The next COMMIT arrives, and its answer does not.
    CutAfterCommit,
    /// The next COMMIT does not arrive, and nobody sees why.
    HoldCommit,
    /// After so many bytes the connection is closed.
    CutAfterBytes(usize),
}

/// Each rule but `Pass` holds once.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    rule: Arc<Mutex<Rule>>,
}

impl Proxy {
    pub(crate) fn new(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let rule = Arc::new(Mutex::new(Rule::Pass));
        let shared = Arc::clone(&rule);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", to)));
                let (server, rule) = (server.unwrap(), Arc::clone(&shared));
                let (mut from, mut back) =
                    (server.try_clone().unwrap(), client.try_clone().unwrap());
                let is_mute = Arc::new(Mutex::new(false));
                let mute = Arc::clone(&is_mute);
                thread::spawn(move || {
                    let _ = forward(&mut from, |bytes| {
                        *mute.lock().unwrap() || back.write_all(bytes).is_ok()
                    });
                    let _ = back.shutdown(Shutdown::Both);
                });
                thread::spawn(move || there(client, server, &rule, &is_mute));
            }
        });
        Self { port, rule }
    }

    pub(crate) fn set(&self, rule: Rule) {
        *self.rule.lock().unwrap() = rule;
    }

    /// What holds now; `Pass` if the last rule has been carried out.
    pub(crate) fn rule(&self) -> Rule {
        *self.rule.lock().unwrap()
    }
}

/// Passes on what the client sends, by the rule.
fn there(mut client: TcpStream, mut server: TcpStream, rule: &Mutex<Rule>, is_mute: &Mutex<bool>) {
    let end = server.try_clone().unwrap();
    let _ = forward(&mut client, |bytes| {
        let mut rule = rule.lock().unwrap();
        let commits = bytes.windows(7).any(|word| word == b"COMMIT\0");
        match *rule {
            Rule::CutBeforeCommit if commits => {
                *rule = Rule::Pass;
                false
            }
            Rule::CutAfterCommit if commits => {
                *rule = Rule::Pass;
                *is_mute.lock().unwrap() = true;
                // It is carried out all the same: the database reads it before the end.
                let _ = server.write_all(bytes);
                false
            }
            Rule::HoldCommit if commits => {
                *rule = Rule::Pass;
                drop(rule);
                // Nothing more is passed on, and the client is left to wait.
                *is_mute.lock().unwrap() = true;
                true
            }
            Rule::CutAfterBytes(left) if bytes.len() >= left => {
                *rule = Rule::Pass;
                let _ = server.write_all(&bytes[..left]);
                false
            }
            Rule::CutAfterBytes(left) => {
                *rule = Rule::CutAfterBytes(left - bytes.len());
                server.write_all(bytes).is_ok()
            }
            Rule::Pass | Rule::CutBeforeCommit | Rule::CutAfterCommit | Rule::HoldCommit => {
                *is_mute.lock().unwrap() || server.write_all(bytes).is_ok()
            }
        }
    });
    let _ = client.shutdown(Shutdown::Both);
    let _ = end.shutdown(Shutdown::Write);
}

/// Reads until the end, or until `pass` says so.
fn forward(from: &mut TcpStream, mut pass: impl FnMut(&[u8]) -> bool) -> std::io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 || !pass(&buffer[..read]) {
            return Ok(());
        }
    }
}
