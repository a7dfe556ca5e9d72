internal import Foundation

/// A fact that did not come true in time.
package struct NeverCameTrue: Error, CustomStringConvertible {
    let what: String
    let seconds: Double
    package var description: String { "\(what) did not come true within \(seconds) s" }
}

/// Waits for a fact about something outside this process, which cannot tell us by itself when it comes true.
package func eventually(
    _ what: String, seconds: Double = 120, isolation: isolated (any Actor)? = #isolation,
    _ holds: () async throws -> Bool
) async throws {
    let end = Date(timeIntervalSinceNow: seconds)
    while try await !holds() {
        if Date() > end { throw NeverCameTrue(what: what, seconds: seconds) }
        try await Task.sleep(for: .milliseconds(2))
    }
}
