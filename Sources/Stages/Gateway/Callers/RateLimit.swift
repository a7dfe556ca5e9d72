/// A rate limit that a request or a report can exceed, with the count that it allows.
package enum RateLimit: Sendable, Equatable {
    /// Requests with one key.
    case key(perSecond: Int)
    /// Requests from one address, or from one IPv6 network (`PeerNetwork`).
    case peer(perSecond: Int)
    /// Reports about one installation.
    case installation(perMinute: Int)

    /// The error code of all limits. Only the message names the limit.
    static let errorCode = "rate_limited"

    /// The label in metrics.
    var name: String {
        switch self {
        case .key: "key_rate"
        case .peer: "peer_rate"
        case .installation: "installation_rate"
        }
    }

    /// The error message. It names the setting, so that an operator can find it.
    package var message: String {
        switch self {
        case .key(let count):
            "gateway.key-rate: this key may make \(count) requests per second at this gateway; send several reports in one body"
        case .peer(let count):
            "gateway.peer-rate: your address may make \(count) requests per second at this gateway; send several reports in one body"
        case .installation(let count):
            "gateway.installation-rate: an installation may send \(count) reports per minute at this gateway; send changes only"
        }
    }
}
