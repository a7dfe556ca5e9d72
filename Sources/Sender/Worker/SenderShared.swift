internal import Lifecycle

/// What a loop tells the rest of the process.
final class SenderShared: Sendable {
    private let state = TracedLock([Int: [String]]())

    var obstacles: [String] { state.withLock { all in all.keys.sorted().flatMap { all[$0] ?? [] } } }
    func set(_ obstacles: [String], of loop: Int) { state.withLock { $0[loop] = obstacles } }
}

/// Why a sender cannot go on.
struct SenderFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
