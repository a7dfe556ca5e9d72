internal import Glibc

/// How many random cases a test tries: a hundredth of its proof or so, unless `TEST_SCALE` multiplies
/// it. The proofs run the same tests with a larger scale.
package func trials(_ usual: Int) -> Int {
    let scale = unsafe getenv("TEST_SCALE").flatMap { unsafe Int(String(cString: $0)) } ?? 1
    return usual * max(1, scale)
}
