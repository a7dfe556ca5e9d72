internal import LiveActivity

/// The service of a port, pushes or channel management, in one environment.
struct ServedPort: Sendable {
    enum PortService: Sendable {
        case push
        case channels
    }

    let service: PortService
    let environment: Environment
}
