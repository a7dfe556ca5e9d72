internal import LiveActivity

/// What a port serves: pushes or the management of channels, of one environment.
struct ServedPort: Sendable {
    enum Kind: Sendable {
        case push
        case channels
    }

    let kind: Kind
    let environment: Environment
}
