internal import Cryptography
internal import Kafka
package import Settings

/// The settings of a sender: a process with several event loops.
package struct SenderSettings: OperatorSettings {
    /// Number of event loops, one for each core that the process may use.
    package var loops = 1
    /// Limits of the process. The loops share them (`limitsOfLoop`).
    package var limits = SenderLimits()
    /// Longest wait for an answer of APNs. After that the outcome of the push is unknown.
    package var answerMilliseconds = 5_000
    /// The session of the group: a loop that does not poll for this time loses its lanes.
    package var sessionMilliseconds = ConsumerOptions.sessionMillisecondsDefault
    /// Limit of fetched data that each loop holds ahead of the sheets in hand, in KiB. The library does not
    /// count headers.
    package var prefetchKibibytesMax = 16_384
    /// Limit of sheets that each loop fetches ahead. A sheet lies in its headers, with up to 300 KiB for
    /// 1,000 jobs.
    package var prefetchSheetsMax = 64
    /// Limit of one answer of a broker in KiB. The answer may be compressed.
    package var fetchKibibytesMax = 4_096
    /// The directory of the provider keys. If it is empty, there are no keys and nothing can be pushed.
    package var keysDirectory = ""
    /// Address of APNs' production; nil for Apple's hosts.
    package var production: HostPort?
    /// Address of APNs' sandbox; nil for Apple's hosts.
    package var sandbox: HostPort?
    /// A file with the certificates that are trusted for these hosts. If it is empty, the system's are used.
    package var authorities = ""

    package init() {}

    package static let declared = SettingsGroup(prefix: "sender", defaults: SenderSettings()) { declare in
        declare(
            "loops", sets: \.loops, in: 1...64, "event loops of a process, one for each core that it may use")
        declare(
            "permits", sets: \.limits.permitsMax, in: 1...1_000_000,
            "pushes of a process whose outcome is not stored yet; a SIGKILL can duplicate this many")
        declare(
            "hand", sets: \.limits.sheetBytesMax, as: ByteSize.self, in: 1 << 20...16 << 30,
            "memory of the sheets that a process has in hand; at the limit reading pauses")
        declare(
            "answer-limit", sets: \.answerMilliseconds, as: Milliseconds.self, in: 500...60_000,
            "longest wait for an answer of APNs; after it the outcome of the push is unknown")
        declare(
            "settle", sets: \.limits.settleMilliseconds, as: Milliseconds.self, in: 0...60_000,
            "wait before the jobs of a dead sender continue, because its last pushes may be in flight")
        declare(
            "keys", sets: \.keysDirectory,
            "directory of the provider keys, <team id>/AuthKey_<key id>.p8; without it nothing can be pushed"
        )
        declare(
            "apns-production", sets: \.productionText, "address of APNs' production, if not Apple's",
            check: Self.problem)
        declare(
            "apns-sandbox", sets: \.sandboxText, "address of APNs' sandbox, if not Apple's",
            check: Self.problem)
        declare(
            "apns-authorities", sets: \.authorities,
            "file with the certificates that are trusted for these hosts; empty: the system's")
    }

    private var productionText: String {
        get { production?.settingText ?? "" }
        set { production = HostPort(settingText: newValue) }
    }

    private var sandboxText: String {
        get { sandbox?.settingText ?? "" }
        set { sandbox = HostPort(settingText: newValue) }
    }

    /// Returns the problem of an address; nil if it is valid.
    private static func problem(_ text: String) -> String? {
        text.isEmpty || HostPort(settingText: text) != nil ? nil : "must be \(HostPort.typeDescription)"
    }

    /// Limit of the records with their headers that a loop takes from the library at once, in bytes.
    static let batchBytesMax = 4 << 20

    /// Returns the options of the consumer with which a loop reads jobs.
    func options(_ membership: ConsumerOptions.Membership) -> ConsumerOptions {
        var options = ConsumerOptions(membership: membership)
        options.sessionMilliseconds = sessionMilliseconds
        options.prefetchKibibytesMax = prefetchKibibytesMax
        options.prefetchRecordsMax = prefetchSheetsMax
        options.fetchKibibytesMax = fetchKibibytesMax
        return options
    }

    /// The share of the limits for one loop.
    var limitsOfLoop: SenderLimits {
        var share = limits
        share.permitsMax = max(1, limits.permitsMax / loops)
        share.sheetBytesMax = max(1 << 20, limits.sheetBytesMax / loops)
        return share
    }
}
