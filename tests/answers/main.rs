//! What a database answers, beside a plain model that compares each document with all others:
//! whatever was done to it, and wherever the documents are. One program, since each is linked with the
//! whole library.

#[path = "../common/mod.rs"]
mod common;
mod history;

mod arrivals;
mod batch;
mod clusters;
mod expiry;
mod groups;
mod model;
mod pairs;
mod recall;
mod similar;
