// A program in Rust whose stacks are known: outer spends three times as much on heavy as on
// light.
use std::hint::black_box;
use std::io::{Read, Write};

#[inline(never)]
#[no_mangle]
pub extern "C" fn spin(n: u64) -> u64 {
    let mut sum = 0u64;
    for i in 0..n {
        sum = black_box(sum.wrapping_add(i));
    }
    sum
}

#[inline(never)]
#[no_mangle]
pub extern "C" fn heavy(n: u64) -> u64 {
    black_box(spin(3 * n)) + 1
}

#[inline(never)]
#[no_mangle]
pub extern "C" fn light(n: u64) -> u64 {
    black_box(spin(n)) + 1
}

#[inline(never)]
#[no_mangle]
pub extern "C" fn outer(n: u64) -> u64 {
    black_box(heavy(n)) + black_box(light(n))
}

fn main() {
    std::thread::spawn(|| {
        let mut all = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut all);
        std::process::exit(0);
    });
    println!("ready");
    let _ = std::io::stdout().flush();
    let mut x = 1u64;
    let calls: Vec<Box<dyn Fn(u64) -> u64>> = vec![Box::new(|n| black_box(outer(n)) + 1)];
    loop {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        black_box(calls[0](10_000 + (x >> 33) % 90_000));
    }
}
