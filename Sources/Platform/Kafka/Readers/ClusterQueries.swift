/// Queries of offsets and topics through the client of the process's readers. A result can wait behind a fetch of
/// the readers, for a tenth of a second.
package final class ClusterQueries: Sendable {
    private let client: ReaderClient
    private let results = QueryResults()

    init(client: ReaderClient) { self.client = client }

    /// Submits a query without waiting. `takeResults` returns the results.
    package func submit(_ query: OffsetQuery) -> OffsetQueryID {
        client.client.submit(query, to: results, wakeup: client.client.wakeup)
    }

    /// Returns the results that have come since the last call. Call it regularly, also without a query.
    package func takeResults() -> [(OffsetQueryID, OffsetQueryResult)] {
        client.serve()
        return results.takeAll()
    }

    /// Returns whether the cluster describes a topic within the limit. Blocks the thread.
    package func doesAnswer(aboutTopic topic: String, withinMilliseconds limit: Int) -> Bool {
        client.serve()
        guard let topic = try? Topic(name: topic, client: client.client) else { return false }
        return (try? client.client.describe(topic, until: Deadline(milliseconds: limit))) != nil
    }
}
