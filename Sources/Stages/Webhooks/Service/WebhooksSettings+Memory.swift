internal import Settings

/// The memory of a webhooks process.
extension WebhooksSettings {
    /// The part of the bound that no setting changes: the program, the catalog, and freed memory that the heaps keep.
    private static let fixedBytes = 128 << 20
    /// The Kafka client of an endpoint and its thread: buffers, metadata, and the stacks of the library's threads.
    private static let clientBytes = 4 << 20
    /// A connection with its TLS session.
    private static let connectionBytes = 64 << 10
    /// A send that waits for its lanes, and the tally of one lane in it.
    private static let sendBytes = 2 << 10
    private static let tallyBytes = 512

    /// The most anonymous memory of a process (`RssAnon`) that runs only this stage and calls this many endpoints and
    /// owns all partitions.
    package func anonymousBytesMax(endpoints: Int, lanes: Int) -> Int {
        let batch = Self.batchBytesMax + Self.batchRecordsMax * (1 << 10)
        // Each lane is a partition of `progress`, whose collector holds sends with the tallies of all lanes.
        let waitingSends = SendCollector.sendsMax * lanes
        let perEndpoint =
            Self.clientBytes + 2 * (Self.prefetchKibibytes << 10) + 2 * batch
            + (eventsMax + Self.batchRecordsMax) * WebhookEvent.bodyBytesMax
            + callsMax * (Self.connectionBytes + WebhookEvent.bodyBytesMax)
            + waitingSends * (Self.sendBytes + Self.tallyBytes * lanes)
        return Self.fixedBytes + min(endpoints, endpointsMax) * perEndpoint
    }
}
