/// The number of reachable brokers, as a client knows it.
///
/// The library connects only if it has a request, and brokers close connections without use after ten
/// minutes. So a client without connections is idle, or it cannot connect. In the second case it tries again
/// every two seconds.
struct BrokerReachability {
    private var knownAttempts = 0
    private var lastBrokersUp: Int?

    /// Takes the figures of one interval of the statistics. Returns the number of brokers with a connection,
    /// and for an idle client the number before it became idle. Returns nil if the client has never needed a
    /// connection.
    mutating func update(with statistics: ClientStatistics) -> Int? {
        let hasTried = statistics.connectionAttempts > knownAttempts
        knownAttempts = statistics.connectionAttempts
        if statistics.brokersUp > 0 || hasTried { lastBrokersUp = statistics.brokersUp }
        return lastBrokersUp
    }
}
