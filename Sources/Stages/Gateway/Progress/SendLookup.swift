package import Kafka
package import Lifecycle
internal import StageSupport
package import Topics

/// The threads that find sends by their ids, for queries about a send and for its cancellation. A caller has one of
/// them at a time.
package final class SendLookup: Sendable {
    /// The result of a lookup.
    package enum LookupResult: Sendable {
        case send(FoundSend)
        case notFound
        /// The search reached its time limit.
        case timedOut
        /// Kafka could not be read, or the gateway stops.
        case unavailable
    }

    private let threads: FairThreads<SendSearch>

    package init(
        cluster: Cluster, layout: TopicLayout, context: ServiceContext,
        threads count: Int = GatewayLimits.lookupThreads
    ) throws {
        threads = FairThreads(
            name: "lookups", priority: .background, threads: count,
            limits: .init(
                waitingPerCallerMax: GatewayLimits.lookupsPerCallerWaitingMax,
                waitingMax: GatewayLimits.lookupsWaitingMax)
        ) { SendSearch(cluster: cluster, layout: layout, context: context, on: $0.loop) }
    }

    /// Stops the threads after their present searches. Blocks until then.
    package func stop() { threads.stop { $0.close() } }

    /// Finds a send and passes the result to `then`, on a thread of the searches.
    ///
    /// - Parameters:
    ///   - app: The app of the caller. A send of another app is reported as `.notFound`.
    ///   - start: The start of the search.
    ///   - caller: The name whose searches come one after the other.
    /// - Returns: False if too many lookups wait. Then `then` is not called.
    package func find(
        _ id: SendID, of app: String, from start: SearchStart, for caller: String,
        then: @escaping @Sendable (LookupResult) -> Void
    ) -> Bool {
        let deadline = Instant.now().advanced(byMilliseconds: GatewayLimits.lookupCallMilliseconds)
        return threads.run(for: caller) { search in
            then(search?.find(id, of: app, from: start, by: deadline) ?? .unavailable)
        }
    }
}
