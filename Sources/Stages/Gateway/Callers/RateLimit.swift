/// A limit on the requests and reports of a caller. The raw value is the name of its setting after `gateway.`.
package enum RateLimit: String, Sendable, CaseIterable {
    case keyRequests = "key-rate"
    case keyBytes = "key-bytes"
    case keyReports = "key-reports"
    case peerRequests = "peer-rate"
    case peerBytes = "peer-bytes"
    case peerReports = "peer-reports"
    case peerInstallations = "peer-installations"
    case installationReports = "installation-rate"

    /// The error code of all limits. Only the message names the limit.
    static let errorCode = "rate_limited"

    /// The label in metrics.
    var label: String { rawValue.split(separator: "-").joined(separator: "_") }

    /// Returns the part of the error message after the setting's name: the rule and the remedy.
    fileprivate func rule(countMax count: Int) -> String {
        switch self {
        case .keyRequests:
            "this key may make \(count) requests per second at this gateway; wait, or put several reports or sends into one request"
        case .keyBytes:
            "this key may send \(count) bytes per second to this gateway; wait and send them again"
        case .keyReports:
            "this key may send \(count) reports per second to this gateway; wait and send them again"
        case .peerRequests:
            "your address may make \(count) requests per second at this gateway; wait, or put several reports or sends into one request"
        case .peerBytes:
            "your address may send \(count) bytes per second to this gateway; wait and send them again"
        case .peerReports:
            "your address may send \(count) reports per second to this gateway; wait and send them again"
        case .peerInstallations:
            "your address may report \(count) new installations per hour at this gateway; wait and send the report again"
        case .installationReports:
            "an installation may send \(count) reports per minute at this gateway; send changes only"
        }
    }
}

/// A rate limit that a request or a report exceeds.
package struct ExceededLimit: Sendable, Equatable {
    package let limit: RateLimit
    /// The limit's value.
    let countMax: Int
    /// The time after which the request can pass.
    let waitMilliseconds: Int

    /// The error message. It names the setting, so that an operator can find it.
    package var message: String { "gateway.\(limit.rawValue): \(limit.rule(countMax: countMax))" }
}
