//! What the benches share: their arguments, keys and queries, the table they print, and the plain
//! answers that everything else is checked against and compared with.

// Each bench is a program of its own and uses its own part of this.
#![allow(dead_code)]
#![allow(clippy::print_stdout)]

pub mod arguments;
pub mod check;
pub mod contender;
pub mod database;
pub mod keys;
pub mod memory;
pub mod plain_scan;
pub mod planted;
pub mod sorted_arrays;
pub mod table;
pub mod timing;
