internal import Identifiers

/// The service that the simulated APNs offers on one of its ports, in one environment.
struct ServedPort: Sendable {
    enum PortService: Sendable {
        case push
        case channels
    }

    let service: PortService
    let environment: Environment
}
