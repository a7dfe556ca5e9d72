/// A record that a stage could not use: its key, value and headers unchanged, and the headers below, which
/// name its position and the reason. This form preserves a value of any bytes and size, also a missing one. A
/// redrive needs nothing else.
package struct DeadLetter: Sendable, Hashable {
    package static let schemaVersion = 1
    /// The maximum length of a reason in characters. A longer reason is truncated.
    package static let reasonCharactersMax = 1000

    /// The stage that rejected the record.
    package var stage: String
    /// A stable code, for `flotilla dead-letters --reason`.
    package var code: String
    /// The problem and the remedy, for people.
    package var reason: String
    package var topic: String
    package var partition: Int32
    package var offset: Int64
    /// Milliseconds since 1970: when the record was written, and when the stage rejected it.
    package var writtenAt: Int64
    package var rejectedAt: Int64

    package init(
        stage: String, code: String, reason: String, topic: String, partition: Int32, offset: Int64,
        writtenAt: Int64, rejectedAt: Int64
    ) {
        self.stage = stage
        self.code = code
        self.reason = String(reason.prefix(Self.reasonCharactersMax))
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.writtenAt = writtenAt
        self.rejectedAt = rejectedAt
    }

    package enum Header: String, Sendable, CaseIterable {
        case version = "flotilla-dead-v"
        case stage = "flotilla-dead-stage"
        case code = "flotilla-dead-code"
        case reason = "flotilla-dead-reason"
        case topic = "flotilla-dead-topic"
        case partition = "flotilla-dead-partition"
        case offset = "flotilla-dead-offset"
        case writtenAt = "flotilla-dead-written-at"
        case at = "flotilla-dead-at"
    }

    package var headers: [(name: Header, value: String)] {
        [
            (.version, String(Self.schemaVersion)), (.stage, stage), (.code, code), (.reason, reason),
            (.topic, topic), (.partition, String(partition)), (.offset, String(offset)),
            (.writtenAt, String(writtenAt)), (.at, String(rejectedAt)),
        ]
    }

    /// Returns nil if the headers are not those of a dead letter of this version.
    package init?(headers: some Sequence<(name: String, value: String)>) {
        var found: [Header: String] = [:]
        for (name, value) in headers {
            if let header = Header(rawValue: name) { found[header] = value }
        }
        guard found[.version] == String(Self.schemaVersion), let stage = found[.stage],
            let code = found[.code], let reason = found[.reason], let topic = found[.topic],
            let partition = found[.partition].flatMap(Int32.init),
            let offset = found[.offset].flatMap(Int64.init),
            let writtenAt = found[.writtenAt].flatMap(Int64.init), let at = found[.at].flatMap(Int64.init)
        else { return nil }
        self.init(
            stage: stage, code: code, reason: reason, topic: topic, partition: partition, offset: offset,
            writtenAt: writtenAt, rejectedAt: at)
    }
}
