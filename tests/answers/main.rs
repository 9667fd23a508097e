//! Every answer equals the answer of a plain model that compares each document with all others;
//! fingerprints never change; limits and refusals are exact. The tests are one program, because
//! each test program links the whole library.

mod history;

mod accuracy;
mod arrivals;
mod batch;
mod clusters;
mod compatibility;
mod copies;
mod decision;
mod expiry;
mod frames;
mod golden;
mod groups;
mod invalid;
mod keys;
mod languages;
mod limits;
mod model;
mod news;
mod one_word_changes;
mod outcomes;
mod pairs;
mod progress;
mod quotations;
mod recall;
mod recipes;
mod refusals;
mod scopes;
mod similar;
mod similar_join;
mod since;
mod stopped_visits;
mod unique_load;
