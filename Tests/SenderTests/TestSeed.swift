import Glibc

/// The one seed that is asked for.
var testSeed: UInt64? { getenv("TEST_SEED").flatMap { UInt64(String(cString: $0)) } }
