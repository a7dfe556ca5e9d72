package import Kafka
package import Lifecycle
internal import Synchronization
package import Topics

/// The thread that finds sends by their ids, one after the other, for queries about a send and for its cancellation.
package final class SendLookup: Sendable {
    /// The result of a lookup.
    package enum LookupResult: Sendable {
        case send(FoundSend)
        case notFound
        /// The search reached its time limit.
        case timedOut
        /// Kafka could not be read.
        case unavailable
    }

    private let search: LoopOwned<SendSearch>
    /// The calls whose search has not begun.
    private let waiting = Atomic<Int>(0)

    package init(cluster: Cluster, layout: TopicLayout, context: ServiceContext) throws {
        search = try LoopOwned(thread: "lookups") {
            SendSearch(cluster: cluster, layout: layout, context: context, on: $0.loop)
        }
    }

    package func stop() { search.stop { $0.close() } }

    /// Finds a send and passes the result to `then`, on the thread of the searches.
    ///
    /// - Parameters:
    ///   - app: The app of the caller. A send of another app is reported as `.notFound`.
    ///   - time: The time of acceptance in milliseconds since 1970, or nil to use the time in the id.
    /// - Returns: False if too many lookups wait. Then `then` is not called.
    package func find(
        _ id: SendID, of app: String, since time: Int64?, then: @escaping @Sendable (LookupResult) -> Void
    ) -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue <= GatewayLimits.lookupsWaitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        let deadline = Instant.now().advanced(byMilliseconds: GatewayLimits.lookupCallMilliseconds)
        let isTaken = search.execute {
            self.waiting.subtract(1, ordering: .relaxed)
            then($0.find(id, of: app, since: time ?? id.acceptedAt, by: deadline))
        }
        if !isTaken { waiting.subtract(1, ordering: .relaxed) }
        return isTaken
    }
}
