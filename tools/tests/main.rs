//! The two command line tools as a user meets them, verb by verb: standard output, standard error,
//! exit codes, files. One program, since each is linked with the whole library:
//!
//! ```sh
//! cargo test -p simdb-tools --test tools -- dedup
//! ```

mod calibrate;
mod clusters;
mod common;
mod compare;
mod csv;
mod dedup;
mod doctor;
mod every_verb;
mod explain;
mod fuzzing;
mod hostile_files;
mod inputs;
mod load;
mod npy;
mod pairs;
mod parquet;
mod recipe;
mod reports;
mod salvage;
mod similar;
mod verbs;
mod watch;
