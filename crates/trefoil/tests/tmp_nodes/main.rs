#![allow(warnings)]
mod campaign;
mod models;
mod nodes;
mod rebuilt;
mod trigrams;
