internal import LiveActivity

/// The service of a port, pushes or channel management, in one environment.
struct ServedPort: Sendable {
    enum Kind: Sendable {
        case push
        case channels
    }

    let kind: Kind
    let environment: Environment
}
