internal import HTTPServer

/// The memory of a gateway.
extension GatewaySettings {
    /// The part of the bound that no setting changes: the program, its Kafka clients, the counts of callers' rates
    /// (85 MiB), the catalog, one query to insight, and freed memory that the heaps keep.
    private static let fixedBytes = 256 << 20
    /// The memory of an open connection: 32 KiB for the head of its request, 16 KiB for a short answer, and the
    /// library's state.
    private static let connectionBytes = 56 << 10

    /// The most anonymous memory of a process (`RssAnon`) that runs only this stage.
    ///
    /// A body counts twice while it arrives, because its array grows by copies. One that waits for Kafka counts
    /// twice: as the body, and as the records made from it. An answer counts for its copy in the library, and
    /// briefly for the original.
    package var anonymousBytesMax: Int {
        Self.fixedBytes + 2 * http.bodiesBytesMax + 2 * limits.bytesWaitingMax + 2 * http.answersBytesMax
            + Self.connectionBytes * http.connectionsMax
    }
}
