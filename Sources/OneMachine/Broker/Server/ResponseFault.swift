/// The fault that a test injects into one answer. The product delivers each answer.
package enum ResponseFault: Sendable, Equatable {
    case deliver
    case drop
    case delay(milliseconds: Int)
    case duplicate
    /// Sent after the answer that follows it.
    case swapWithNext
    case closeConnection
}

/// Returns the fault for each answer, in the order of the answers. Called on the broker's loop.
package typealias ResponseFaults = @Sendable (_ key: Int16, _ correlation: Int32) -> ResponseFault

/// Returns whether a partition of a committed transaction is aborted. Called on the broker's loop.
package typealias TransactionAborts = @Sendable (_ topic: String, _ partition: Int32) -> Bool
