package import Telemetry

/// The times of the clocks that may date provider tokens, the most trusted clock first. Another clock is
/// tried if APNs reports that a young token has expired.
package struct ProviderClocks: Sendable {
    let times: [WallTime]

    package init(trusted: WallTime, others: WallTime...) { times = [trusted] + others }
}
