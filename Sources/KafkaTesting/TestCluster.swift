internal import Broker
internal import Glibc

/// A cluster with real transactions for one test: the embedded broker in this process, on an empty
/// directory, gone with this object. Where `FLOTILLA_KAFKA` gives an address, it is that cluster,
/// whatever it holds: then tests must name their topics and groups so that they meet no others.
package final class TestCluster: Sendable {
    package let brokers: [String]
    private let embedded: RunningBroker?

    package init() throws {
        if let text = unsafe getenv("FLOTILLA_KAFKA").map({ unsafe String(cString: $0) }), !text.isEmpty {
            brokers = text.split(separator: ",").map(String.init)
            embedded = nil
        } else {
            let broker = try RunningBroker(.temporary())
            brokers = ["\(broker.host):\(broker.port)"]
            embedded = broker
        }
    }

    deinit { embedded?.stop() }
}
