/// One of the limits on how often somebody may come, with what it grants.
package enum RateLimit: Sendable, Equatable {
    case key(perSecond: Int)
    case peer(perSecond: Int)
    case installation(perMinute: Int)

    /// For programs; which of them it is, the sentence says.
    static let code = "rate_limited"

    /// For metrics.
    var name: String {
        switch self {
        case .key: "key_rate"
        case .peer: "peer_rate"
        case .installation: "installation_rate"
        }
    }

    /// Names the limit by its setting, so that whoever runs the gateway finds it.
    package var sentence: String {
        switch self {
        case .key(let count):
            "gateway.key-rate: this key may make \(count) requests a second here; send several reports in a body"
        case .peer(let count):
            "gateway.peer-rate: your address may make \(count) requests a second here; send several reports in a body"
        case .installation(let count):
            "gateway.installation-rate: an installation may send \(count) reports a minute here; send what has changed"
        }
    }
}
