internal import Glibc
package import Telemetry

/// The settings of one broker. The defaults suit a developer's machine.
package struct BrokerSettings: Sendable {
    package var host = "127.0.0.1"
    /// With 0 the system chooses.
    package var port = 0
    /// Whether the broker may listen beyond loopback. It has no TLS and no users.
    package var allowRemote = false
    /// The host that clients connect to; nil for the host of the listener.
    package var advertisedHost: String?
    package var advertisedPort: Int?
    /// The directory with the records, which is made if it does not exist.
    package var dataDirectory: String
    /// The moment at which an append counts as safe.
    package var flush = FlushPolicy.everyAck
    /// The number of partitions for topics that are created without one.
    package var defaultPartitions: Int32 = 1
    package var limits = SessionLimits()
    /// Whether the broker removes the directory when it stops.
    package var removesDataAtStop = false

    // The rest is for tests.

    /// The faults that a test injects into answers.
    package var responseFaults: ResponseFaults?
    /// The partitions in which a committed transaction is aborted. No real broker does that.
    package var transactionAborts: TransactionAborts?
    /// The delays of a cluster that a test injects.
    package var clusterDelays: (any ClusterDelays)?
    /// The file operations. A test can let any of them fail.
    package var disk = Disk()
    /// The machine's clock, which decides what has expired.
    package var clock: @Sendable () -> WallTime = { .now() }

    package init(dataDirectory: String) {
        self.dataDirectory = dataDirectory
    }

    /// Returns settings for a broker that removes its data when it stops.
    package static func temporary() throws(BrokerError) -> BrokerSettings {
        let directory = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        var template = Array((directory + "/flotilla-broker-XXXXXX").utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw .noTemporaryDirectory(directory) }
        let path = template.dropLast().map { UInt8(bitPattern: $0) }
        var settings = BrokerSettings(dataDirectory: String(decoding: path, as: UTF8.self))
        settings.removesDataAtStop = true
        return settings
    }

    var isLoopback: Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.")
    }
}
