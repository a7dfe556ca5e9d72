import Glibc

/// The seed that the environment asks for, or nil.
var testSeed: UInt64? { getenv("TEST_SEED").flatMap { UInt64(String(cString: $0)) } }
