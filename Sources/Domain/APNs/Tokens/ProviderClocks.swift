package import Telemetry

/// The current time by each clock that may date provider tokens, such as the machine's and the Kafka cluster's.
/// Another clock is tried if APNs reports that a young token has expired.
package struct ProviderClocks: Sendable {
    /// The most trusted clock comes first. The number of clocks never changes.
    let times: [WallTime]

    package init(trusted: WallTime, others: WallTime...) { times = [trusted] + others }
}
