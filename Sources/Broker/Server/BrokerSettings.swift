internal import Glibc
package import Telemetry

/// How one broker runs. Every value has a default that suits a machine of one's own.
package struct BrokerSettings: Sendable {
    package var host = "127.0.0.1"
    /// 0: the system chooses.
    package var port = 0
    /// Addresses other than loopback are refused without it: there is no TLS here, and no users.
    package var allowRemote = false
    /// What clients are told to connect to; nil: what was listened on.
    package var advertisedHost: String?
    package var advertisedPort: Int?
    /// Where the records are. The directory is made if it is not there.
    package var dataDirectory: String
    /// When an append counts as safe.
    package var flush = FlushPolicy.everyAck
    /// For topics that are created without a number.
    package var defaultPartitions: Int32 = 1
    package var limits = SessionLimits()
    package var responseFaults: ResponseFaults?
    /// Which partitions' share of a committed transaction is taken back, as no broker should: a test tears
    /// a transaction with it.
    package var transactionTears: TransactionTears?
    package var weather: (any BrokerWeather)?
    /// Every file operation, which a test can number, let fail, or let the process die at.
    package var disk = Disk()
    /// The machine's clock, as far as it decides what has expired.
    package var clock: @Sendable () -> WallTime = { .now() }

    /// The directory is the broker's own and goes with it.
    package var removesDataAtStop = false

    package init(dataDirectory: String) {
        self.dataDirectory = dataDirectory
    }

    /// A broker whose data lives as long as it does.
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
