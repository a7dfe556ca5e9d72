internal import Lifecycle

/// Names one request of one pool; stale once the request has ended.
package struct PoolTicket: Hashable, Sendable {
    package let index: Int32
    package let generation: UInt32

    init(index: Int32, generation: UInt32) {
        self.index = index
        self.generation = generation
    }

    /// As a tag of the session underneath.
    package var tag: UInt64 { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: index)) }

    package init(tag: UInt64) {
        index = Int32(truncatingIfNeeded: tag)
        generation = UInt32(truncatingIfNeeded: tag >> 32)
    }
}

/// One request between `submit` and its end.
struct PoolRequest {
    enum Phase: UInt8 {
        case free
        /// For a stream.
        case waiting
        /// After a refusal, until `due`.
        case resting
        /// On a connection.
        case open
        /// Reported as unknown; its answer may still come until its stream closes.
        case late
    }

    var phase = Phase.free
    var generation: UInt32 = 0
    var refusals: UInt8 = 0
    var moves: UInt8 = 0
    /// How often it may still leave because of an answer.
    var attemptsLeft = 0
    /// It has been sent again because of the provider token, which is done once.
    var hasRetriedToken = false
    /// The connection it is on, or the one it should not be on again; 0 is none.
    var connection: UInt32 = 0
    var leaveBy = Instant.distantFuture
    var due = Instant.distantFuture

    mutating func begin(leaveBy: Instant, attempts: Int) {
        phase = .waiting
        generation &+= 1
        refusals = 0
        moves = 0
        hasRetriedToken = false
        connection = 0
        self.leaveBy = leaveBy
        attemptsLeft = attempts - 1
    }
}
