fn main() {
    println!("cargo::rerun-if-changed=src/bare_futex.c");
    cc::Build::new().file("src/bare_futex.c").opt_level(3).compile("bare_futex");
}
