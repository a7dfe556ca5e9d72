/// The error of `eventually`: the condition did not become true in time.
package struct ConditionTimedOut: Error, CustomStringConvertible {
    let condition: String
    let seconds: Double
    package var description: String { "\(condition) did not become true within \(seconds) s" }
}

/// Waits until a condition outside this process becomes true. It polls, because the outside cannot notify
/// this process.
///
/// - Parameter condition: The condition in words, for the error.
package func eventually(
    _ condition: String, seconds: Double = 120, isolation: isolated (any Actor)? = #isolation,
    holds: () async throws -> Bool
) async throws {
    var deadline = PollingDeadline(seconds: seconds)
    while try await !holds() {
        if deadline.hasPassed() { throw ConditionTimedOut(condition: condition, seconds: seconds) }
        try await Task.sleep(for: .milliseconds(2))
    }
}
