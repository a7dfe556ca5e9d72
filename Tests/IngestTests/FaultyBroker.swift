import Broker
import Lifecycle

/// An embedded broker that carries out the requests of a kind, but loses its answers, while a test asks for it. It
/// never uses the cluster in `FLOTILLA_KAFKA`, which cannot do that.
final class FaultyBroker: Sendable {
    /// The kinds of requests, by Kafka's API keys.
    enum Request: Int16 {
        case produce = 0
        case endTransaction = 26
    }

    private struct State {
        /// The faults by API key.
        var faults: [Int16: ResponseFault] = [:]
        /// The number of answers that had a fault, by API key.
        var faultCounts: [Int16: Int] = [:]
    }

    private let state: TracedLock<State>
    private let broker: RunningBroker
    let brokers: [String]

    init() throws {
        let state = TracedLock(State())
        var settings = try BrokerSettings.temporary()
        settings.responseFaults = { apiKey, _ in
            state.withLock { state in
                guard let fault = state.faults[apiKey] else { return .deliver }
                state.faultCounts[apiKey, default: 0] += 1
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

    /// Returns the number of answers that had a fault.
    func faultCount(of request: Request) -> Int {
        state.withLock { $0.faultCounts[request.rawValue] ?? 0 }
    }
}
