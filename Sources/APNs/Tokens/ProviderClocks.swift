package import Telemetry

/// What each of the clocks shows that a process may date its provider tokens by, the most trusted first. Another one
/// is tried where APNs finds that a young token has expired.
package struct ProviderClocks: Sendable {
    let times: [WallTime]

    package init(_ trusted: WallTime, else others: WallTime...) { times = [trusted] + others }
}
