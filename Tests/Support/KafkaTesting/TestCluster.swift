package import Broker
internal import Glibc
internal import Lifecycle

/// A cluster with real transactions for one test: the embedded broker in this process, on an empty directory
/// that is removed with this object.
///
/// If `FLOTILLA_KAFKA` contains addresses, no broker is started, and this object is the cluster there with its existing
/// content. So tests must use unique names for topics, groups and transactional ids. If `FLOTILLA_WEATHER` contains a
/// seed, the embedded broker has weather: the delays and errors of `ClusterDelayModel`.
package final class TestCluster: Sendable {
    package let brokers: [String]
    private let embedded: RunningBroker?
    private let weather: SeededWeather?

    /// The addresses of all embedded brokers that tests have started in this process.
    private static let temporaryBrokers = TracedLock<Set<String>>([])

    /// - Parameters:
    ///   - runningBrokers: A running cluster. Nil means the cluster in the environment or, without one, the embedded
    ///     broker.
    ///   - file, line: The caller, so that each test has a different weather from the one seed.
    package convenience init(
        runningBrokers: [String]? = nil, file: StaticString = #fileID, line: UInt = #line
    ) throws {
        if let externalBrokers = runningBrokers ?? Self.environmentBrokers {
            self.init(externalBrokers: externalBrokers)
        } else {
            try self.init(
                weatherSeed: Self.weatherSeed.map { Self.derivedSeed(from: $0, file: file, line: line) })
        }
    }

    private init(externalBrokers: [String]) {
        brokers = externalBrokers
        embedded = nil
        weather = nil
    }

    /// Starts the embedded broker, independent of the environment. Without a seed it has no weather.
    package init(weatherSeed seed: UInt64?) throws {
        var settings = try BrokerSettings.temporary()
        weather = seed.map { SeededWeather(seed: $0) }
        weather?.install(in: &settings)
        let broker = try RunningBroker(settings: settings)
        brokers = Self.registerTemporary(broker)
        embedded = broker
    }

    /// Starts the embedded broker with faults that a test controls.
    package init(injecting faults: any ClusterDelays) throws {
        var settings = try BrokerSettings.temporary()
        settings.clusterDelays = faults
        weather = nil
        let broker = try RunningBroker(settings: settings)
        brokers = Self.registerTemporary(broker)
        embedded = broker
    }

    deinit { embedded?.stop() }

    /// Notes that the broker ends with its test, and returns its address.
    private static func registerTemporary(_ broker: RunningBroker) -> [String] {
        let address = "\(broker.host):\(broker.port)"
        temporaryBrokers.withLock { _ = $0.insert(address) }
        return [address]
    }

    /// Whether these are addresses of a cluster that ends with its test, together with all its topics.
    package static func endsWithTest(_ brokers: [String]) -> Bool {
        temporaryBrokers.withLock { $0.isSuperset(of: brokers) }
    }

    /// Whether the weather lets the leaders of a topic serve.
    package func isServing(topic: String) -> Bool { weather?.isServing(topic: topic) ?? true }

    /// The cluster in the environment.
    package static var environmentBrokers: [String]? {
        environmentValue(of: "FLOTILLA_KAFKA").map { $0.split(separator: ",").map(String.init) }
    }

    /// The seed of the weather in the environment.
    package static var weatherSeed: UInt64? { environmentValue(of: "FLOTILLA_WEATHER").flatMap(UInt64.init) }

    private static func environmentValue(of name: String) -> String? {
        let text = unsafe getenv(name).map { unsafe String(cString: $0) }
        return text?.isEmpty == false ? text : nil
    }

    private static func derivedSeed(from seed: UInt64, file: StaticString, line: UInt) -> UInt64 {
        var hash = SplitMix64.number(forState: seed &+ UInt64(line))
        for byte in file.description.utf8 { hash = SplitMix64.number(forState: hash ^ UInt64(byte)) }
        return hash
    }
}
