/// The headers of a dead letter, a record in `dead-letters` that a stage could not use. They name the stage,
/// the reason, and the position of the rejected record.
///
/// A dead letter has the rejected record's key, value and headers, and these headers in addition. This form preserves any
/// value, also a missing one, so a redrive needs nothing else. There are two exceptions: a token in plain text is sealed,
/// and a record that is too large is only named by its position and cannot be redriven.
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
    /// The position of the rejected record.
    package var topic: String
    package var partition: Int32
    package var offset: Int64
    /// The time of the rejected record: milliseconds since 1970.
    package var writtenAt: Int64
    /// The time of the rejection: milliseconds since 1970.
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

    /// The names of the headers.
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
        var values: [Header: String] = [:]
        for (name, value) in headers {
            if let header = Header(rawValue: name) { values[header] = value }
        }
        guard values[.version] == String(Self.schemaVersion), let stage = values[.stage],
            let code = values[.code], let reason = values[.reason], let topic = values[.topic],
            let partition = values[.partition].flatMap(Int32.init),
            let offset = values[.offset].flatMap(Int64.init),
            let writtenAt = values[.writtenAt].flatMap(Int64.init),
            let rejectedAt = values[.at].flatMap(Int64.init)
        else { return nil }
        self.init(
            stage: stage, code: code, reason: reason, topic: topic, partition: partition, offset: offset,
            writtenAt: writtenAt, rejectedAt: rejectedAt)
    }
}
