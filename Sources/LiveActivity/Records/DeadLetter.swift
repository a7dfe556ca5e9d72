/// A record that a stage could not use: its bytes as they were, key, value and headers, and beside them
/// these headers, which say where it lay and why it could not be used. A value of any bytes and of any
/// size survives that way, a missing one too, and a redrive needs nothing else.
package struct DeadLetter: Sendable, Hashable {
    package static let schemaVersion = 1
    /// Characters of a reason; the rest is cut off.
    package static let reasonCharactersMax = 1000

    /// The stage that gave up.
    package var stage: String
    /// Stable, for `flotilla dead-letters --reason`.
    package var code: String
    /// What is wrong and what to do, for people.
    package var reason: String
    package var topic: String
    package var partition: Int32
    package var offset: Int64
    /// When the record was written, and when the stage gave up; milliseconds since 1970.
    package var writtenAt: Int64
    package var at: Int64

    package init(
        stage: String, code: String, reason: String, topic: String, partition: Int32, offset: Int64,
        writtenAt: Int64, at: Int64
    ) {
        self.stage = stage
        self.code = code
        self.reason = String(reason.prefix(Self.reasonCharactersMax))
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.writtenAt = writtenAt
        self.at = at
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
            (.writtenAt, String(writtenAt)), (.at, String(at)),
        ]
    }

    /// Nil for what is no dead letter of this version.
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
            writtenAt: writtenAt, at: at)
    }
}
