import Glibc

/// The seed in the environment variable `TEST_SEED`, which repeats one random case, or nil.
var testSeed: UInt64? { getenv("TEST_SEED").flatMap { UInt64(String(cString: $0)) } }
