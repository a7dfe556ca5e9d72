internal import Lifecycle

/// The identity of one request of one pool. It is stale once the request has ended.
package struct PoolTicket: Hashable, Sendable {
    /// The request's slot in the pool. A slot is reused.
    package let index: Int32
    /// The number of requests that the slot has had.
    package let generation: UInt32

    init(index: Int32, generation: UInt32) {
        self.index = index
        self.generation = generation
    }

    /// The ticket as a tag for the HTTP/2 session.
    package var tag: UInt64 { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: index)) }

    package init(tag: UInt64) {
        index = Int32(truncatingIfNeeded: tag)
        generation = UInt32(truncatingIfNeeded: tag >> 32)
    }
}

/// A slot of the pool for one request, from `submit` to its end. It is then reused.
struct PoolRequest {
    enum Phase: UInt8 {
        /// The slot has no request.
        case free
        /// Waits for a stream.
        case waiting
        /// Waits until `backOffUntil` after a refusal.
        case backingOff
        /// On a connection.
        case open
        /// Reported as unknown. Its answer may still arrive until its stream closes.
        case late
    }

    var phase = Phase.free
    var generation: UInt32 = 0
    /// Number of times that the request's stream was reset before APNs processed it, for example with REFUSED_STREAM.
    var refusals: UInt8 = 0
    /// Number of times that the request was sent again because an answer ended its connection.
    var connectionSwitches: UInt8 = 0
    /// Number of further attempts after an answer that permits a retry.
    var attemptsLeft = 0
    /// Whether the request was sent again because of the provider token. That happens only once.
    var hasRetriedToken = false
    /// The connection that carries the request, or the one to avoid on the next attempt. 0 means no
    /// connection.
    var connection: UInt32 = 0
    /// Time after which the request is not sent.
    var sendBy = Instant.distantFuture
    var backOffUntil = Instant.distantFuture

    mutating func begin(sendBy: Instant, attempts: Int) {
        phase = .waiting
        generation &+= 1
        refusals = 0
        connectionSwitches = 0
        hasRetriedToken = false
        connection = 0
        self.sendBy = sendBy
        attemptsLeft = attempts - 1
    }
}
