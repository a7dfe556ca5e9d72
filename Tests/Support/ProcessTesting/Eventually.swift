internal import Foundation

/// An error for a condition that did not become true in time.
package struct ConditionTimedOut: Error, CustomStringConvertible {
    let condition: String
    let seconds: Double
    package var description: String { "\(condition) did not become true within \(seconds) s" }
}

/// Waits until a condition outside this process becomes true. It polls, because the outside cannot notify
/// this process.
package func eventually(
    _ what: String, seconds: Double = 120, isolation: isolated (any Actor)? = #isolation,
    holds: () async throws -> Bool
) async throws {
    let end = Date(timeIntervalSinceNow: seconds)
    while try await !holds() {
        if Date() > end { throw ConditionTimedOut(condition: what, seconds: seconds) }
        try await Task.sleep(for: .milliseconds(2))
    }
}
