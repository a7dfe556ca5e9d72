internal import Cryptography
internal import Kafka
internal import LiveActivity
package import Settings

/// How senders run.
package struct SenderSettings: OperatorSettings {
    /// Event loops of a process, one for each core that it may use.
    package var loops = 1
    package var limits = SenderLimits()
    /// How long an answer of APNs is awaited; then nobody knows what became of the push.
    package var answerMilliseconds = 5_000
    package var sessionMilliseconds = 10_000
    /// Bytes that each loop fetches ahead of the sheets in hand; the library counts no headers.
    package var prefetchKibibytesMax = 16_384
    /// Sheets that each loop fetches ahead. A sheet lies in its headers, with up to 300 KiB for 1,000 jobs.
    package var prefetchSheetsMax = 64
    /// Bytes of one answer of a broker, which may be compressed.
    package var fetchKibibytesMax = 4_096
    /// Empty: there are none, and nothing can be pushed.
    package var keysDirectory = ""
    /// Where APNs is: Apple's hosts, unless these say otherwise.
    package var production: HostPort?
    package var sandbox: HostPort?
    /// A file with the certificates of who may vouch for these hosts; none: the system's.
    package var authorities = ""

    package init() {}

    package static let declared = SettingsGroup("sender", defaults: SenderSettings()) { declare in
        declare(
            "loops", sets: \.loops, in: 1...64, "event loops of a process, one for each core that it may use")
        declare(
            "permits", sets: \.limits.permitsMax, in: 1...1_000_000,
            "pushes of a process whose outcome is not stored yet; as many can a SIGKILL double")
        declare(
            "hand", sets: \.limits.handBytesMax, as: Bytes.self, in: 1 << 20...16 << 30,
            "memory of the sheets that a process has in hand; beyond it reading waits")
        declare(
            "answer-limit", sets: \.answerMilliseconds, as: Milliseconds.self, in: 500...60_000,
            "how long an answer of APNs is awaited; then nobody knows what became of the push")
        declare(
            "settle", sets: \.limits.settleMilliseconds, as: Milliseconds.self, in: 0...60_000,
            "how long the jobs of a sender that died wait, as its last pushes may still be out")
        declare(
            "keys", sets: \.keysDirectory,
            "the directory of the provider keys, <team id>/AuthKey_<key id>.p8; without one nothing can be pushed"
        )
        declare(
            "apns-production", sets: \.productionText, "where APNs' production is, if not at Apple's",
            check: Self.problem)
        declare(
            "apns-sandbox", sets: \.sandboxText, "where APNs' sandbox is, if not at Apple's",
            check: Self.problem)
        declare(
            "apns-authorities", sets: \.authorities,
            "a file with the certificates that may vouch for these hosts; empty: the system's")
    }

    private var productionText: String {
        get { production?.settingText ?? "" }
        set { production = HostPort(settingText: newValue) }
    }

    private var sandboxText: String {
        get { sandbox?.settingText ?? "" }
        set { sandbox = HostPort(settingText: newValue) }
    }

    private static func problem(_ text: String) -> String? {
        text.isEmpty || HostPort(settingText: text) != nil ? nil : "must be \(HostPort.kind)"
    }

    /// Bytes of sheets, with their headers, that a loop takes at once.
    static let batchBytesMax = 4 << 20

    /// The consumer of jobs of one loop.
    func options(_ membership: ConsumerOptions.Membership) -> ConsumerOptions {
        var options = ConsumerOptions(membership)
        options.sessionMilliseconds = sessionMilliseconds
        options.prefetchKibibytesMax = prefetchKibibytesMax
        options.prefetchRecordsMax = prefetchSheetsMax
        options.fetchKibibytesMax = fetchKibibytesMax
        return options
    }

    /// What one of its loops may take.
    var limitsOfLoop: SenderLimits {
        var share = limits
        share.permitsMax = max(1, limits.permitsMax / loops)
        share.handBytesMax = max(1 << 20, limits.handBytesMax / loops)
        return share
    }
}
