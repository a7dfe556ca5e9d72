internal import Glibc

/// Returns the number of random cases of a test: about a hundredth of its proof, multiplied by `TEST_SCALE`.
/// The proofs run the same tests with a larger scale.
package func trialCount(base: Int) -> Int {
    let scale = unsafe getenv("TEST_SCALE").flatMap { unsafe Int(String(cString: $0)) } ?? 1
    return base * max(1, scale)
}
