import Broker
import Lifecycle

/// An embedded broker that loses answers by kind of request, if a test asks for it. It never uses the cluster
/// in `FLOTILLA_KAFKA`, which cannot do that.
final class FaultyBroker: Sendable {
    enum Request: Int16 {
        case produce = 0
        case endTransaction = 26
    }

    private struct State {
        var faults: [Int16: ResponseFault] = [:]
        var met: [Int16: Int] = [:]
    }

    private let state: TracedLock<State>
    private let broker: RunningBroker
    let brokers: [String]

    init() throws {
        let state = TracedLock(State())
        var settings = try BrokerSettings.temporary()
        settings.responseFaults = { key, _ in
            state.withLock { state in
                guard let fault = state.faults[key] else { return .deliver }
                state.met[key, default: 0] += 1
                return fault
            }
        }
        self.state = state
        broker = try RunningBroker(settings: settings)
        brokers = ["\(broker.host):\(broker.port)"]
    }

    deinit { broker.stop() }

    /// Sets the fault of all later answers to such requests. The broker still carries out the requests.
    func answer(_ request: Request, with fault: ResponseFault) {
        state.withLock { $0.faults[request.rawValue] = fault == .deliver ? nil : fault }
    }

    /// Returns the number of answers that met a fault.
    func met(_ request: Request) -> Int { state.withLock { $0.met[request.rawValue] ?? 0 } }
}
