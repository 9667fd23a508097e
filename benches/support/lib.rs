//! The common parts of the benches: arguments, keys and queries, timing, the printed table, and the
//! plain scan that is both baseline and definition of the right answer.

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
