use rayon::prelude::*;
use simdb::*;
use std::ops::ControlFlow;
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: usize = a[1].parse().unwrap();
    let texts: Vec<String> = std::io::stdin()
        .lines()
        .take(n)
        .map(|l| {
            let v: serde_json::Value = serde_json::from_str(&l.unwrap()).unwrap();
            v["text"].as_str().unwrap().to_owned()
        })
        .collect();
    let decision = if a[2] == "alike" {
        Decision::Alike
    } else {
        Decision::Contained
    };
    let mut index = SimilarIndex::new(Likeness::default(), decision).unwrap();
    let t = Instant::now();
    index.extend(&texts);
    println!(
        "build {} in {:?}, {} B a text",
        texts.len(),
        t.elapsed(),
        index.len_bytes() / texts.len()
    );
    let sample: Vec<usize> = (0..2000).map(|i| i * texts.len() / 2000).collect();
    let mut times = vec![];
    let mut found = 0;
    let mut prep = 0.0;
    for &i in &sample {
        let t = Instant::now();
        let p = PreparedText::new(&texts[i]);
        prep += t.elapsed().as_secs_f64();
        let t = Instant::now();
        found += index.similar(&p).len();
        times.push(t.elapsed().as_secs_f64() * 1e6);
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    times.sort_by(f64::total_cmp);
    println!(
        "prep {:.1} us; query us mean {mean:.0} p50 {:.0} p99 {:.0}; {found} found",
        prep / 2000.0 * 1e6,
        times[1000],
        times[1980]
    );
    let t = Instant::now();
    let pairs: usize = (0..texts.len())
        .into_par_iter()
        .map(|i| {
            let p = PreparedText::new(&texts[i]);
            let mut c = 0;
            let _ = index.visit(&p, 0..i as u32, |_| {
                c += 1;
                ControlFlow::<()>::Continue(())
            });
            c
        })
        .sum();
    println!("join {pairs} pairs {:?}", t.elapsed());
}
