/// What a test wants done to one answer. The product always delivers; the hook is an injected value
/// so that what is tested is what ships.
package enum ResponseFault: Sendable, Equatable {
    case deliver
    case drop
    case delay(milliseconds: Int)
    case duplicate
    /// Sent after the answer that follows it.
    case swapWithNext
    case closeConnection
}

/// Decides about each answer, in the order in which they leave. Called on the broker's loop.
package typealias ResponseFaults = @Sendable (_ key: Int16, _ correlation: Int32) -> ResponseFault

/// Decides about each partition of a transaction that is being committed. Called on the broker's loop.
package typealias TransactionTears = @Sendable (_ topic: String, _ partition: Int32) -> Bool
